#ifndef VS_DEMANGLE_H
#define VS_DEMANGLE_H

/*
 * A linker's name as its programmer wrote it, C++ and Rust, without the parameters:
 * "_ZN2at5emptyEi" is "at::empty". NULL when it is no mangled name. The caller frees it.
 */
char *vs_demangle_name(const char *name);

#endif
