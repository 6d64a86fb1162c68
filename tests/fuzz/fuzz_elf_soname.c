/* libFuzzer: any bytes as a library, then the name found in it as a library's name. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_soname.h"
#include "library_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sg_library_name name;
	char soname[NAME_MAX + 1];
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (sg_elf_soname_read(fd, soname, sizeof(soname)) == 0 &&
	    sg_library_name_parse(soname, &name) == 0) {
		sg_library_name_is_nvidia(&name);
		while (sg_library_name_shorten(&name))
			;
	}
	close(fd);
	return 0;
}
