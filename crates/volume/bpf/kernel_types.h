/* The little that the recorder reads of the kernel's own structures. Only names and types of fields
 * matter here: where they lie in the running kernel is filled in from its BTF when the program is
 * loaded (CO-RE), so nothing of this has to be as long or in such an order as the kernel has it. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define CORE __attribute__((preserve_access_index))

struct thread_info {
	u32 status;
} CORE;

struct qstr {
	const unsigned char *name;
} CORE;

struct super_block;

struct inode {
	u16 i_mode;
	u32 i_generation;
	unsigned long i_ino;
	s64 i_size;
} CORE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
} CORE;

struct vfsmount {
	struct dentry *mnt_root;
} CORE;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} CORE;

struct ns_common {
	u32 inum;
} CORE;

struct mnt_namespace {
	struct ns_common ns;
} CORE;

struct nsproxy {
	struct mnt_namespace *mnt_ns;
} CORE;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;

typedef struct {
	s64 counter;
} atomic_long_t;

typedef struct {
	atomic_long_t refcnt;
} file_ref_t;

/* `f_ref` since Linux 6.13 (0: one reference), `f_count` before. */
struct file {
	u32 f_mode;
	u32 f_flags;
	s64 f_pos;
	struct path f_path;
	struct inode *f_inode;
	file_ref_t f_ref;
	atomic_long_t f_count;
} CORE;

struct fdtable {
	u32 max_fds;
	struct file **fd;
	unsigned long *close_on_exec;
	unsigned long *open_fds;
} CORE;

typedef struct {
	int counter;
} atomic_t;

struct files_struct {
	atomic_t count;
	struct fdtable *fdt;
} CORE;

struct fs_struct {
	struct path pwd;
} CORE;

struct task_io_accounting {
	u64 rchar;
	u64 wchar;
	u64 read_bytes;
	u64 write_bytes;
} CORE;

struct signal_struct {
	atomic_t live;
	u64 utime;
	u64 stime;
	u64 cutime;
	u64 cstime;
	struct task_io_accounting ioac;
} CORE;

struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
	struct file *exe_file;
} CORE;

struct task_struct {
	struct thread_info thread_info;
	struct mm_struct *mm;
	s32 pid;
	s32 tgid;
	struct task_struct *group_leader;
	u64 utime;
	u64 stime;
	u64 start_boottime;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct task_io_accounting ioac;
} CORE;

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9;
} CORE;
#define ARGUMENTS(to, regs) \
	((to)[0] = (regs)->di, (to)[1] = (regs)->si, (to)[2] = (regs)->dx, \
	 (to)[3] = (regs)->r10, (to)[4] = (regs)->r8, (to)[5] = (regs)->r9)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
} CORE;
#define ARGUMENTS(to, from) \
	((to)[0] = (from)->regs[0], (to)[1] = (from)->regs[1], (to)[2] = (from)->regs[2], \
	 (to)[3] = (from)->regs[3], (to)[4] = (from)->regs[4], (to)[5] = (from)->regs[5])
#else
#error "how this processor hands arguments to system calls is not known here"
#endif

/* Helpers of the kernel, by their numbers (linux/bpf.h). */
static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*ktime_ns)(void) = (void *)5;
static u64 (*current_pid_tgid)(void) = (void *)14;
static long (*read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static long (*read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static u64 (*ring_query)(void *ring, u64 what) = (void *)134;
static void *(*task_storage)(void *map, struct task_struct *task, void *first, u64 flags) = (void *)156;
static struct task_struct *(*current_task)(void) = (void *)158;
static long (*loop)(u32 times, void *body, void *context, u64 flags) = (void *)181;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

/* A field behind any pointer, also one that the verifier knows nothing of. */
#define FIELD(to, from, field) \
	read_kernel(&(to), sizeof(to), __builtin_preserve_access_index(&(from)->field))
#define OFFSET_OF(from, field) __builtin_preserve_field_info((from)->field, 0)
#define HAS_FIELD(from, field) __builtin_preserve_field_info((from)->field, 2)

#endif
