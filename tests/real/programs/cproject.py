"""cproject.py DIR: writes a C project of 150 sources, headers, a static library and a Makefile."""
import pathlib
import sys

top = pathlib.Path(sys.argv[1])
for name in ("include", "lib", "src", "obj"):
    (top / name).mkdir(parents=True)
count = 150
for i in range(count):
    below = "lib" if i < 100 else "src"
    (top / "include" / f"part{i}.h").write_text(
        f'#pragma once\n#include "common.h"\nint part{i}(int x);\n')
    other = (i * 7 + 3) % 100
    (top / below / f"part{i}.c").write_text(
        f'#include "part{i}.h"\n#include "part{other}.h"\n#include <stdio.h>\n#include <string.h>\n'
        f'int part{i}(int x) {{ char b[64]; snprintf(b, sizeof b, "%d", x);\n'
        f'  return (int)strlen(b) + {i} + (x > 100 ? part{other}(x / 10) : SCALE * x); }}\n')
(top / "include" / "common.h").write_text("#pragma once\n#define SCALE 3\n")
calls = " + ".join(f"part{i}(n)" for i in range(count))
includes = "".join(f'#include "part{i}.h"\n' for i in range(count))
(top / "src" / "main.c").write_text(
    f"{includes}#include <stdio.h>\n#include <stdlib.h>\nint main(int c, char **v) "
    f'{{ int n = c > 1 ? atoi(v[1]) : 5; printf("%d\\n", {calls}); return 0; }}\n')
(top / "Makefile").write_text("""\
CFLAGS = -O0 -Iinclude -MMD -MP
LIB = $(patsubst lib/%.c,obj/%.o,$(wildcard lib/*.c))
APP = $(patsubst src/%.c,obj/%.o,$(wildcard src/*.c))
program: $(APP) libparts.a
\t$(CC) -o $@ $(APP) -L. -lparts
libparts.a: $(LIB)
\trm -f $@
\tar rcsD $@ $^
obj/%.o: lib/%.c
\t$(CC) $(CFLAGS) -c -o $@ $<
obj/%.o: src/%.c
\t$(CC) $(CFLAGS) -c -o $@ $<
clean:
\trm -f obj/* program libparts.a
-include $(wildcard obj/*.d)
""")
