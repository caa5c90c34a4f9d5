/* Looks on while a command and what it starts use files of the recorded directories. It changes
 * nothing and refuses nothing: it is attached to the beginning and end of system calls, and to
 * forks, execs and exits.
 *
 * What is read and written is summed here, for each open file; all else goes to the daemon through
 * one ring. Whatever finds no room there is counted. Which call is what kind is told by the daemon
 * (`calls`), so that this file knows no numbers of calls. The layouts below and
 * `kernel_events/wire.rs` are one. */
#include "kernel_types.h"

#define NAMES_MAX 4096
#define TEXT_MAX 4096
#define DEEPEST 64
#define FDS_MAX 65536
#define PENDING_MAX 16

/* How long sums of an open file that is used wait at most until they are told. */
#define TELL_EVERY_NS 500000000ull
/* So much in the ring wakes the daemon; else it looks by itself. */
#define WAKE_BYTES (1 << 20)

#define O_TRUNC 01000
#define KIND_MASK 0170000
#define REGULAR 0100000
#define DIRECTORY 0040000
#define AT_FDCWD (-100)

enum action {
	NOTHING, OPEN, READ, WRITE, CLOSE, CLOSE_RANGE, DUP, ON_OPEN, ON_NAME, ON_TWO_NAMES, COPY_RANGE,
	SEND, MAP, EXEC, RING, CONTROL, SEEK, MARK,
};

enum kind {
	OPENED, NAMED, NAMED_FIRST, USED, MOVED, CLOSED, MAPPED, COPIED_FROM, FORKED, RAN, PROGRAM_FILE,
	WORKING_DIRECTORY, EXITED,
};

#define NONE 0xff

struct call {
	u8 action;
	u8 op;
	/* Which arguments: a descriptor, a path, both again, and one more thing. */
	u8 fd, path, fd2, path2, extra;
	/* `extra` is the address of what is meant. */
	u8 behind;
};

struct cell {
	u32 count;
	u32 failed;
	u64 nanos;
	u64 bytes;
};

/* One open file, and what the process that used it last has moved through it since it was told. */
struct open_file {
	u64 id;
	u64 told_at;
	u64 read_end;
	u64 write_end;
	u32 process;
	u32 maps;
	/* Reads, then writes; four sizes; in order, then not. */
	struct cell cells[16];
};

struct thread {
	u64 began;
	u64 args[6];
	u64 closing;
	u64 closing_size;
	struct call call;
	u32 last;
	u32 watched;
};

struct event {
	u32 kind;
	u32 process;
	u64 at;
	u64 nanos;
	s64 result;
	u64 file;
	u64 inode;
	u64 size;
	u64 bytes;
	u32 op;
	u32 flags;
	u32 mode;
	s32 tree;
	u32 names;
	u32 text;
	u32 thread;
	u32 count;
};

struct exit_event {
	struct event head;
	u64 user, system, children_user, children_system;
	u64 rchar, wchar, read_bytes, write_bytes;
};

struct scratch {
	struct event head;
	u8 data[NAMES_MAX + 2 * TEXT_MAX];
};

struct state {
	/* The first process, until it was met; the daemon. */
	u32 first;
	u32 daemon;
	u32 mark_call;
	u32 living;
	u64 lost;
	u64 opens;
	u64 rings;
	u64 foreign;
};

struct pending {
	u32 count;
	u32 unused;
	u64 files[PENDING_MAX];
};

struct {
	int (*type)[2];
	int (*max_entries)[1];
	u32 *key;
	struct state *value;
} states SECTION(".maps");

struct {
	int (*type)[2];
	int (*max_entries)[1024];
	u32 *key;
	struct call *value;
} calls SECTION(".maps");

/* What the daemon asked for with its mark. */
struct {
	int (*type)[2];
	int (*max_entries)[1];
	u32 *key;
	struct scratch *value;
} marks SECTION(".maps");

/* Directory entry of each recorded directory, and its number. */
struct {
	int (*type)[1];
	int (*max_entries)[64];
	u64 *key;
	u32 *value;
} trees SECTION(".maps");

struct {
	int (*type)[1];
	int (*max_entries)[131072];
	int (*map_flags)[1];
	u64 *key;
	struct open_file *value;
} open_files SECTION(".maps");

struct {
	int (*type)[1];
	int (*max_entries)[8192];
	int (*map_flags)[1];
	u32 *key;
	struct pending *value;
} execs SECTION(".maps");

struct {
	int (*type)[29];
	int (*max_entries)[0];
	int (*map_flags)[1];
	u32 *key;
	struct thread *value;
} threads SECTION(".maps");

struct {
	int (*type)[6];
	int (*max_entries)[1];
	u32 *key;
	struct scratch *value;
} scratches SECTION(".maps");

struct {
	int (*type)[6];
	int (*max_entries)[1];
	u32 *key;
	struct open_file *value;
} blanks SECTION(".maps");

struct {
	int (*type)[27];
	int (*max_entries)[16777216];
} ring SECTION(".maps");

char licence[] SECTION("license") = "Dual MIT/GPL";

static const u32 zero = 0;

INLINE struct state *the_state(void)
{
	return map_lookup(&states, &zero);
}

INLINE u32 process_id(void)
{
	return current_pid_tgid() >> 32;
}

INLINE void lose(void)
{
	struct state *state = the_state();
	if (state)
		__sync_fetch_and_add(&state->lost, 1);
}

/* Tells the daemon; what finds no room is counted. */
APART long tell(void *event, u32 size)
{
	u64 waiting = ring_query(&ring, 0);
	if (ring_output(&ring, event, size, waiting > WAKE_BYTES ? 2 : 1) == 0)
		return 0;
	lose();
	return -1;
}

INLINE long tell_scratch(struct scratch *scratch, u32 data)
{
	if (data > sizeof(scratch->data))
		data = sizeof(scratch->data);
	u64 waiting = ring_query(&ring, 0);
	u64 wake = waiting > WAKE_BYTES || scratch->head.kind == RAN ? 2 : 1;
	if (ring_output(&ring, scratch, sizeof(struct event) + data, wake) == 0)
		return 0;
	lose();
	return -1;
}

INLINE struct file *file_of(struct task_struct *task, u32 fd)
{
	struct files_struct *files = task->files;
	if (!files)
		return 0;
	struct fdtable *table = files->fdt;
	if (!table || fd >= table->max_fds)
		return 0;
	struct file **all = table->fd;
	struct file *file = 0;
	read_kernel(&file, sizeof(file), all + fd);
	return file;
}

/* How many hold it. Less than 1: it is being closed for good. */
INLINE s64 references(struct file *file)
{
	s64 count = 0;
	if (HAS_FIELD(file, f_ref)) {
		FIELD(count, file, f_ref.refcnt.counter);
		return count + 1;
	}
	FIELD(count, file, f_count.counter);
	return count;
}

struct walk {
	struct dentry *entry;
	/* Across mounts; 0: no further than this file system. */
	struct mount *mount;
	/* `head.names` is how far it is: a number in a map, so that the verifier, which knows nothing
	 * of it, is done after few rounds. */
	struct scratch *scratch;
	u32 end;
	s32 tree;
};

/* One step up. A loop of the kernel's (bpf_loop), for its verifier would follow one of ours. */
static long step_up(u32 i, void *context)
{
	struct walk *walk = context;
	struct dentry *entry = walk->entry, *parent = 0;
	struct mount *mount = walk->mount;
	struct scratch *scratch = walk->scratch;
	const unsigned char *name = 0;
	if (!scratch)
		return 1;
	u32 at = scratch->head.names;
	FIELD(parent, entry, d_parent);
	if (mount) {
		struct dentry *top = 0;
		FIELD(top, mount, mnt.mnt_root);
		if (entry == top || entry == parent) {
			struct mount *above = 0;
			FIELD(above, mount, mnt_parent);
			if (!above || above == mount)
				return 1;
			FIELD(entry, mount, mnt_mountpoint);
			walk->entry = entry;
			walk->mount = above;
			return 0;
		}
	} else {
		u64 key = (u64)entry;
		u32 *tree = map_lookup(&trees, &key);
		if (tree) {
			walk->tree = *tree;
			return 1;
		}
		if (entry == parent)
			return 1;
	}
	if (!parent || at > walk->end || at > sizeof(scratch->data) - 256)
		return 1;
	FIELD(name, entry, d_name.name);
	long size = read_kernel_str(scratch->data + at, 256, name);
	if (size <= 0)
		return 1;
	scratch->head.names = at + size;
	walk->entry = parent;
	return 0;
}

/* Writes the names from this entry up to a recorded directory, innermost first, each with its NUL,
 * behind a text of `begin` bytes. The number of that directory, or -1. */
INLINE s32 names_up(struct dentry *entry, struct scratch *scratch, u32 *length, u32 begin)
{
	struct walk walk = {
		.entry = entry, .scratch = scratch, .end = begin + NAMES_MAX - 256, .tree = -1,
	};
	scratch->head.names = begin;
	loop(DEEPEST, step_up, &walk, 0);
	*length = scratch->head.names - begin;
	return walk.tree;
}

/* The same up to the root of all mounts: an absolute path in the process's mount namespace. */
INLINE u32 names_to_root(struct dentry *entry, struct vfsmount *at, struct scratch *scratch, u32 begin)
{
	struct mount *mount = 0;
	struct walk walk = {
		.entry = entry, .mount = (void *)((u64)at - OFFSET_OF(mount, mnt)), .scratch = scratch,
		.end = begin + NAMES_MAX - 256, .tree = -1,
	};
	scratch->head.names = begin;
	loop(DEEPEST, step_up, &walk, 0);
	return scratch->head.names - begin;
}

INLINE u32 mount_namespace(struct task_struct *task)
{
	struct nsproxy *proxy = task->nsproxy;
	if (!proxy)
		return 0;
	struct mnt_namespace *mounts = proxy->mnt_ns;
	return mounts ? mounts->ns.inum : 0;
}

INLINE void begin_event(struct event *event, u32 kind, struct thread *thread, s64 result)
{
	u64 who = current_pid_tgid();
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->process = who >> 32;
	event->thread = who;
	event->at = ktime_ns();
	if (thread) {
		event->nanos = event->at - thread->began;
		event->op = thread->call.op;
	}
	event->result = result;
	event->tree = -1;
}

struct telling {
	struct open_file *open;
	struct event event;
};

/* One sum. In a loop of the kernel's: its verifier would follow ours down each of its ways. */
static long tell_cell(u32 i, void *context)
{
	struct telling *telling = context;
	struct event *event = &telling->event;
	if (!telling->open)
		return 1;
	struct cell *cell = &telling->open->cells[i & 15];
	if (!cell->count)
		return 0;
	event->count = __sync_lock_test_and_set(&cell->count, 0);
	event->flags = __sync_lock_test_and_set(&cell->failed, 0);
	event->nanos = __sync_lock_test_and_set(&cell->nanos, 0);
	event->bytes = __sync_lock_test_and_set(&cell->bytes, 0);
	event->op = i;
	tell(event, sizeof(*event));
	return 0;
}

/* Tells what was moved through an open file since the last time. */
APART long tell_moved(struct open_file *open)
{
	struct telling telling;
	if (!open)
		return 0;
	telling.open = open;
	begin_event(&telling.event, MOVED, 0, 0);
	telling.event.process = open->process;
	telling.event.file = open->id;
	loop(16, tell_cell, &telling, 0);
	open->told_at = telling.event.at;
	return 0;
}

INLINE void add_moved(struct open_file *open, struct thread *thread, u32 writes, u64 offset, s64 result)
{
	u64 now = ktime_ns();
	u32 process = process_id();
	if (open->process != process) {
		tell_moved(open);
		open->process = process;
	}
	u64 bytes = result > 0 ? result : 0;
	u32 size = bytes <= 4096 ? 0 : bytes <= 65536 ? 1 : bytes <= 1048576 ? 2 : 3;
	u64 end = writes ? open->write_end : open->read_end;
	u64 gap = end > offset ? end - offset : offset - end;
	/* As AccessPattern::from_offsets has it. */
	u32 random = !(gap < 4096 || (bytes >= 65536 && gap <= 4194304));
	if (writes)
		open->write_end = offset + bytes;
	else
		open->read_end = offset + bytes;
	u32 number = (writes << 3 | size << 1 | random) & 15;
	struct cell *cell = &open->cells[number];
	__sync_fetch_and_add(&cell->nanos, now - thread->began);
	__sync_fetch_and_add(&cell->bytes, bytes);
	if (result < 0)
		__sync_fetch_and_add(&cell->failed, 1);
	__sync_fetch_and_add(&cell->count, 1);
	if (now - open->told_at > TELL_EVERY_NS)
		tell_moved(open);
}

INLINE struct open_file *open_of(struct file *file)
{
	u64 key = (u64)file;
	return file ? map_lookup(&open_files, &key) : 0;
}

APART long opened(struct task_struct *task, struct thread *thread, s64 fd)
{
	if (!task || !thread)
		return 0;
	struct file *file = file_of(task, fd);
	struct scratch *scratch = map_lookup(&scratches, &zero);
	struct open_file *blank = map_lookup(&blanks, &zero);
	struct state *state = the_state();
	if (!file || !scratch || !blank || !state)
		return 0;
	struct inode *inode = 0;
	u16 mode = 0;
	FIELD(inode, file, f_inode);
	FIELD(mode, inode, i_mode);
	if ((mode & KIND_MASK) != REGULAR && (mode & KIND_MASK) != DIRECTORY)
		return 0;
	struct dentry *entry = 0;
	FIELD(entry, file, f_path.dentry);
	u32 length = 0;
	s32 tree = names_up(entry, scratch, &length, 0);
	if (tree < 0)
		return 0;
	struct event *event = &scratch->head;
	begin_event(event, OPENED, thread, fd);
	unsigned long number = 0;
	u32 file_mode = 0, flags = 0;
	FIELD(number, inode, i_ino);
	FIELD(event->size, inode, i_size);
	FIELD(event->count, inode, i_generation);
	FIELD(file_mode, file, f_mode);
	FIELD(flags, file, f_flags);
	event->inode = number;
	event->mode = mode;
	event->tree = tree;
	event->names = length;
	u64 asked = 0;
	u32 extra = thread->call.extra;
	if (extra < 6) {
		asked = thread->args[extra];
		if (thread->call.behind) {
			u64 how = 0;
			read_user(&how, sizeof(how), (void *)asked);
			asked = how;
		}
	} else if (extra == 6) {
		/* creat(2) */
		asked = O_TRUNC;
	}
	event->flags = flags | (asked & O_TRUNC);
	event->op = file_mode;
	event->file = __sync_fetch_and_add(&state->opens, 1) + 1;
	blank->id = event->file;
	blank->process = event->process;
	blank->told_at = event->at;
	u64 key = (u64)file;
	if (length > NAMES_MAX)
		length = NAMES_MAX;
	if (tell_scratch(scratch, length) == 0)
		map_update(&open_files, &key, blank, 0);
	return 0;
}

/* A descriptor goes. What was moved is told before its name in the kernel can be used again. */
APART long before_close(struct file *file, struct thread *thread, u32 forget)
{
	struct open_file *open = open_of(file);
	if (!open || !thread)
		return 0;
	struct inode *inode = 0;
	u64 key = (u64)file;
	tell_moved(open);
	thread->closing = open->id;
	thread->last = references(file) <= 1 + (s64)open->maps;
	FIELD(inode, file, f_inode);
	FIELD(thread->closing_size, inode, i_size);
	if (thread->last && forget)
		map_delete(&open_files, &key);
	return 0;
}

APART long after_close(struct thread *thread, s64 result)
{
	struct event event;
	if (!thread || !thread->closing)
		return 0;
	begin_event(&event, CLOSED, thread, result);
	event.file = thread->closing;
	event.size = thread->closing_size;
	event.flags = thread->last;
	thread->closing = 0;
	return tell(&event, sizeof(event));
}

struct sweep {
	struct task_struct *task;
	struct thread *thread;
	u64 bits;
	u32 first;
	u32 last;
	/* 0: all go now; 1: those that execve(2) closes are noted. */
	u32 exec;
};

static long sweep_one(u32 i, void *context)
{
	struct sweep *sweep = context;
	u32 fd = sweep->first + i;
	if (fd > sweep->last)
		return 1;
	struct files_struct *files = 0;
	struct fdtable *table = 0;
	unsigned long *bits = 0;
	u32 most = 0;
	struct task_struct *task = sweep->task;
	FIELD(files, task, files);
	FIELD(table, files, fdt);
	FIELD(most, table, max_fds);
	if (fd >= most)
		return 1;
	if (i == 0 || (fd & 63) == 0) {
		if (sweep->exec)
			FIELD(bits, table, close_on_exec);
		else
			FIELD(bits, table, open_fds);
		read_kernel(&sweep->bits, 8, bits + fd / 64);
	}
	if (!(sweep->bits >> (fd & 63) & 1))
		return 0;
	struct file **all = 0;
	struct file *file = 0;
	FIELD(all, table, fd);
	read_kernel(&file, sizeof(file), all + fd);
	if (!open_of(file))
		return 0;
	if (sweep->exec) {
		u32 process = process_id();
		struct pending none = {};
		struct pending *pending = map_lookup(&execs, &process);
		if (!pending) {
			map_update(&execs, &process, &none, 0);
			pending = map_lookup(&execs, &process);
		}
		if (pending && pending->count < PENDING_MAX) {
			pending->files[pending->count & (PENDING_MAX - 1)] = (u64)file;
			pending->count++;
		}
		return 0;
	}
	struct open_file *open = open_of(file);
	struct event event;
	struct inode *inode = 0;
	u64 key = (u64)file;
	if (!open)
		return 0;
	tell_moved(open);
	begin_event(&event, CLOSED, 0, 0);
	event.file = open->id;
	event.flags = references(file) <= 1 + (s64)open->maps;
	FIELD(inode, file, f_inode);
	FIELD(event.size, inode, i_size);
	if (event.flags)
		map_delete(&open_files, &key);
	tell(&event, sizeof(event));
	return 0;
}

INLINE void sweep_all(struct task_struct *task, u32 first, u32 last, u32 exec)
{
	struct sweep sweep = { .task = task, .first = first, .last = last, .exec = exec };
	loop(FDS_MAX, sweep_one, &sweep, 0);
}

/* What was done to an open file, by its descriptor. */
APART long used(struct task_struct *task, struct thread *thread, u32 fd, s64 result)
{
	struct event event;
	if (!task || !thread)
		return 0;
	struct open_file *open = open_of(file_of(task, fd));
	if (!open)
		return 0;
	begin_event(&event, USED, thread, result);
	event.file = open->id;
	return tell(&event, sizeof(event));
}

/* What was done to a name. */
APART long named(struct task_struct *task, struct thread *thread, u32 second, s64 result)
{
	if (!task || !thread)
		return 0;
	u32 fd_at = second ? thread->call.fd2 : thread->call.fd;
	u32 path_at = second ? thread->call.path2 : thread->call.path;
	struct scratch *scratch = map_lookup(&scratches, &zero);
	if (!scratch || path_at > 5)
		return 0;
	s32 fd = fd_at < 6 ? (s32)thread->args[fd_at] : AT_FDCWD;
	u64 path = thread->args[path_at];
	long text = path ? read_user_str(scratch->data, TEXT_MAX, (void *)path) : 0;
	if (text <= 1 || text > TEXT_MAX) {
		/* No name: what the descriptor is. */
		if (text >= 0 && fd >= 0)
			used(task, thread, fd, result);
		/* The kernel has read it, and it was taken out of memory since. */
		if (text < 0 && result != -14)
			lose();
		return 0;
	}
	u32 length = 0;
	s32 tree = -1;
	if (scratch->data[0] != '/') {
		struct dentry *base = 0;
		struct vfsmount *mount = 0;
		if (fd == AT_FDCWD) {
			struct fs_struct *fs = task->fs;
			base = fs->pwd.dentry;
			mount = fs->pwd.mnt;
		} else {
			struct file *file = file_of(task, fd);
			if (!file)
				return 0;
			FIELD(base, file, f_path.dentry);
			FIELD(mount, file, f_path.mnt);
		}
		u64 key = (u64)base;
		u32 *number = map_lookup(&trees, &key);
		if (number)
			tree = *number;
		else
			tree = names_up(base, scratch, &length, text);
		if (tree < 0)
			length = names_to_root(base, mount, scratch, text);
	}
	struct event *event = &scratch->head;
	begin_event(event, NAMED, thread, result);
	event->inode = mount_namespace(task);
	if (!second && thread->call.action == ON_TWO_NAMES)
		event->kind = NAMED_FIRST;
	event->tree = tree;
	event->names = length;
	event->text = text;
	u32 extra = thread->call.extra;
	if (extra < 6)
		event->flags = thread->args[extra];
	tell_scratch(scratch, (text + length) & (4 * TEXT_MAX - 1));
	return 0;
}

/* The daemon asks which names lead to one of its descriptors. */
APART long marked(struct task_struct *task, u32 fd)
{
	struct scratch *mark = map_lookup(&marks, &zero);
	if (!task || !mark)
		return 0;
	struct file *file = file_of(task, fd);
	struct dentry *entry = 0;
	u32 length = 0;
	mark->head.file = 0;
	if (!file)
		return 0;
	FIELD(entry, file, f_path.dentry);
	mark->head.file = (u64)entry;
	mark->head.tree = names_up(entry, mark, &length, 0);
	mark->head.names = length;
	return 0;
}

#define MARK_WHENCE 0x6662

SECTION("tp_btf/sys_enter")
int call_begins(u64 *context)
{
	struct task_struct *task = current_task();
	struct thread *thread = task_storage(&threads, task, 0, 0);
	u32 number = context[1];
	if (!thread) {
		struct state *state = the_state();
		if (!state)
			return 0;
		u32 process = process_id();
		if (process == state->first) {
			thread = task_storage(&threads, task, 0, 1);
			if (!thread)
				return 0;
			if (!thread->watched) {
				thread->watched = 1;
				__sync_fetch_and_add(&state->living, 1);
			}
		} else if (process == state->daemon && number == state->mark_call) {
			struct pt_regs *regs = (void *)context[0];
			u64 args[6];
			ARGUMENTS(args, regs);
			if (args[2] == MARK_WHENCE)
				marked(task, args[0]);
			return 0;
		} else {
			return 0;
		}
	}
	thread->call.action = NOTHING;
	struct call *call = map_lookup(&calls, &number);
	if (!call || call->action == NOTHING)
		return 0;
#if defined(__TARGET_ARCH_x86)
	/* Programs for 32 bits have other numbers. */
	if (task->thread_info.status & 2) {
		struct state *state = the_state();
		if (state)
			__sync_fetch_and_add(&state->foreign, 1);
		return 0;
	}
#endif
	struct pt_regs *regs = (void *)context[0];
	ARGUMENTS(thread->args, regs);
	thread->call = *call;
	if (call->action == CLOSE)
		before_close(file_of(task, thread->args[0]), thread, 1);
	else if (call->action == DUP && thread->args[0] != thread->args[1])
		before_close(file_of(task, thread->args[1]), thread, 1);
	else if (call->action == CLOSE_RANGE && !(thread->args[2] & 4))
		sweep_all(task, thread->args[0], thread->args[1], 0);
	else if (call->action == EXEC)
		sweep_all(task, 0, FDS_MAX, 1);
	thread->began = ktime_ns();
	return 0;
}

SECTION("tp_btf/sys_exit")
int call_ends(u64 *context)
{
	struct task_struct *task = current_task();
	struct thread *thread = task_storage(&threads, task, 0, 0);
	if (!thread || thread->call.action == NOTHING)
		return 0;
	s64 result = context[1];
	u32 action = thread->call.action;
	u32 process = process_id();
	if (action == READ || action == WRITE) {
		struct file *file = file_of(task, thread->args[0]);
		struct open_file *open = open_of(file);
		if (open && result) {
			s64 offset = 0;
			u32 extra = thread->call.extra;
			if (extra < 6)
				offset = thread->args[extra];
			/* preadv2(2): -1 means where the file is. */
			if (extra >= 6 || offset == -1) {
				FIELD(offset, file, f_pos);
				if (result > 0)
					offset -= result;
			}
			add_moved(open, thread, action == WRITE, offset, result);
		}
	} else if (action == OPEN) {
		if (result >= 0)
			opened(task, thread, result);
		else
			named(task, thread, 0, result);
	} else if (action == CLOSE || action == DUP) {
		after_close(thread, result);
	} else if (action == ON_OPEN) {
		used(task, thread, thread->args[0], result);
	} else if (action == CONTROL) {
		u32 command = thread->args[1];
		if (thread->call.extra == 1) {
			/* fcntl(2): F_GETLK to F_SETLKW, F_OFD_GETLK to F_OFD_SETLKW. */
			if ((command >= 5 && command <= 7) || (command >= 36 && command <= 38))
				used(task, thread, thread->args[0], result);
		} else if (command != 0x5450 && command != 0x5451 && command != 0x5421 &&
			   command != 0x5452 && command != 0x541b) {
			/* ioctl(2), but for what the kernel answers for any file. */
			used(task, thread, thread->args[0], result);
		}
	} else if (action == SEEK) {
		if (thread->args[2] == 3 || thread->args[2] == 4)
			used(task, thread, thread->args[0], result);
	} else if (action == ON_NAME) {
		named(task, thread, 0, result);
	} else if (action == ON_TWO_NAMES) {
		named(task, thread, 0, result);
		named(task, thread, 1, result);
	} else if (action == COPY_RANGE) {
		struct open_file *from = open_of(file_of(task, thread->args[0]));
		struct event event;
		begin_event(&event, COPIED_FROM, thread, result);
		if (from && result > 0) {
			event.file = from->id;
			tell(&event, sizeof(event));
		}
		used(task, thread, thread->args[2], result);
	} else if (action == SEND) {
		u32 from = thread->call.fd, to = thread->call.fd2;
		if (from < 6 && to < 6 && result > 0) {
			struct open_file *open = open_of(file_of(task, thread->args[from]));
			if (open)
				add_moved(open, thread, 0, open->read_end, result);
			open = open_of(file_of(task, thread->args[to]));
			if (open)
				add_moved(open, thread, 1, open->write_end, result);
		}
	} else if (action == MAP) {
		/* Not anonymous memory. */
		if (!(thread->args[3] & 0x20) && (result > 0 || result < -4095)) {
			struct open_file *open = open_of(file_of(task, thread->args[4]));
			if (open) {
				struct event event;
				begin_event(&event, MAPPED, thread, 0);
				__sync_fetch_and_add(&open->maps, 1);
				event.file = open->id;
				event.flags = thread->args[3];
				event.mode = thread->args[2];
				tell(&event, sizeof(event));
			}
		}
	} else if (action == EXEC) {
		/* It was not executed: what it would have closed stays open. */
		if (result < 0)
			map_delete(&execs, &process);
	} else if (action == RING) {
		struct state *state = the_state();
		if (state && result >= 0)
			__sync_fetch_and_add(&state->rings, 1);
	}
	thread->call.action = NOTHING;
	return 0;
}

SECTION("tp_btf/sched_process_fork")
int forks(u64 *context)
{
	struct task_struct *parent = (void *)context[0];
	struct task_struct *child = (void *)context[1];
	struct thread *above = task_storage(&threads, parent, 0, 0);
	if (!above)
		return 0;
	struct state *state = the_state();
	struct thread *thread = task_storage(&threads, child, 0, 1);
	if (!state)
		return 0;
	if (!thread) {
		__sync_fetch_and_add(&state->lost, 1);
		return 0;
	}
	thread->watched = 1;
	__sync_fetch_and_add(&state->living, 1);
	if (child->tgid == parent->tgid)
		return 0;
	struct event event;
	begin_event(&event, FORKED, 0, 0);
	event.process = child->tgid;
	event.file = parent->tgid;
	event.bytes = child->start_boottime;
	tell(&event, sizeof(event));
	return 0;
}

struct given_back {
	struct pending *pending;
};

/* One open file that execve(2) closed: what it gave back is gone already. */
static long tell_given_back(u32 i, void *context)
{
	struct given_back *back = context;
	struct pending *pending = back->pending;
	if (!pending || i >= pending->count)
		return 1;
	u64 key = pending->files[i & (PENDING_MAX - 1)];
	struct open_file *open = map_lookup(&open_files, &key);
	if (!open)
		return 0;
	struct event event;
	tell_moved(open);
	begin_event(&event, CLOSED, 0, 0);
	event.file = open->id;
	event.size = ~0ull;
	event.flags = references((struct file *)key) <= (s64)open->maps;
	if (event.flags)
		map_delete(&open_files, &key);
	tell(&event, sizeof(event));
	return 0;
}

SECTION("tp_btf/sched_process_exec")
int runs(u64 *context)
{
	struct task_struct *task = current_task();
	struct thread *thread = task_storage(&threads, task, 0, 0);
	struct scratch *scratch = map_lookup(&scratches, &zero);
	if (!thread || !scratch)
		return 0;
	u32 process = process_id();
	struct pending *pending = map_lookup(&execs, &process);
	if (pending) {
		struct given_back back = { .pending = pending };
		loop(PENDING_MAX, tell_given_back, &back, 0);
		map_delete(&execs, &process);
	}
	struct mm_struct *memory = task->mm;
	if (!memory)
		return 0;
	struct event *event = &scratch->head;
	struct file *program = memory->exe_file;
	struct dentry *entry = 0;
	u32 length = 0;
	if (program) {
		struct inode *inode = 0;
		unsigned long number = 0;
		FIELD(entry, program, f_path.dentry);
		s32 tree = names_up(entry, scratch, &length, 0);
		if (tree >= 0) {
			begin_event(event, PROGRAM_FILE, 0, 0);
			event->tree = tree;
			event->names = length;
			FIELD(inode, program, f_inode);
			FIELD(number, inode, i_ino);
			FIELD(event->size, inode, i_size);
			FIELD(event->count, inode, i_generation);
			event->inode = number;
			tell_scratch(scratch, length & (2 * NAMES_MAX - 1));
		}
	}
	struct fs_struct *fs = task->fs;
	if (fs) {
		FIELD(entry, fs, pwd.dentry);
		s32 tree = names_up(entry, scratch, &length, 0);
		if (tree >= 0) {
			begin_event(event, WORKING_DIRECTORY, 0, 0);
			event->tree = tree;
			event->names = length;
			tell_scratch(scratch, length & (2 * NAMES_MAX - 1));
		}
	}
	begin_event(event, RAN, 0, 0);
	unsigned long from = memory->arg_start, to = memory->arg_end;
	u64 size = to - from;
	if (size > TEXT_MAX - 1)
		size = TEXT_MAX - 1;
	/* Or the compiler forgets the bound, which the kernel wants to see. */
	__asm__ volatile("" : "+r"(size));
	size &= TEXT_MAX - 1;
	if (read_user(scratch->data, size, (void *)from))
		size = 0;
	event->text = size;
	event->mode = mount_namespace(task);
	__builtin_memcpy(&event->inode, task->comm, 16);
	event->file = to - from;
	tell_scratch(scratch, size);
	return 0;
}

SECTION("tp_btf/sched_process_exit")
int exits(u64 *context)
{
	struct task_struct *task = current_task();
	struct thread *thread = task_storage(&threads, task, 0, 0);
	struct state *state = the_state();
	if (!state)
		return 0;
	if (!thread || !thread->watched) {
		/* Killed before its first call. */
		if (process_id() == state->first)
			state->first = 0;
		return 0;
	}
	thread->watched = 0;
	struct files_struct *files = task->files;
	if (files && files->count.counter == 1)
		sweep_all(task, 0, FDS_MAX, 0);
	u32 living = __sync_fetch_and_add(&state->living, -1) - 1;
	struct signal_struct *all = task->signal;
	if (all->live.counter == 0) {
		struct exit_event event;
		struct task_struct *leader = task->group_leader;
		begin_event(&event.head, EXITED, 0, living);
		event.user = all->utime + task->utime;
		event.system = all->stime + task->stime;
		if (leader != task) {
			event.user += leader->utime;
			event.system += leader->stime;
		}
		event.children_user = all->cutime;
		event.children_system = all->cstime;
		event.rchar = all->ioac.rchar + task->ioac.rchar;
		event.wchar = all->ioac.wchar + task->ioac.wchar;
		event.read_bytes = all->ioac.read_bytes + task->ioac.read_bytes;
		event.write_bytes = all->ioac.write_bytes + task->ioac.write_bytes;
		if (ring_output(&ring, &event, sizeof(event), living ? 1 : 2))
			__sync_fetch_and_add(&state->lost, 1);
	}
	/* The first process's number may be given again. */
	if (process_id() == state->first)
		state->first = 0;
	return 0;
}
