#include "page_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

void vs_page_file_put_json(FILE *file, const char *text, size_t size)
{
	bool is_quoted = false;

	for (size_t i = 0; i < size; i++) {
		char sign = text[i];

		if (is_quoted && sign == '\\' && i + 1 < size) {
			fputc(sign, file);
			fputc(text[++i], file);
		} else if (sign == '<') {
			/* Only texts have one. */
			fputs("\\u003c", file);
		} else if (is_quoted || (sign != ' ' && sign != '\n')) {
			is_quoted ^= sign == '"';
			fputc(sign, file);
		}
	}
}

static int copy(FILE *to, FILE *from)
{
	char bytes[65536];
	size_t size;

	rewind(from);
	while ((size = fread(bytes, 1, sizeof(bytes), from)))
		if (fwrite(bytes, 1, size, to) != size)
			return -VS_ERR_IO;
	return ferror(from) ? -VS_ERR_IO : 0;
}

static int put_page(FILE *file, const char *story, size_t story_size, FILE *parts)
{
	int err;

	fputs(vs_page_bundle_head, file);
	vs_page_file_put_json(file, story, story_size);
	fputs(vs_page_bundle_body, file);
	err = copy(file, parts);
	fputs(vs_page_bundle_tail, file);
	if (!err && (fflush(file) || ferror(file)))
		err = -VS_ERR_IO;
	return err;
}

int vs_page_file_write(const char *path, const char *story, size_t story_size, FILE *parts)
{
	FILE *file = fopen(path, "we");
	int err, why;

	if (!file)
		return -VS_ERR_IO;
	err = put_page(file, story, story_size, parts);
	why = errno;
	if (fclose(file) && !err) {
		why = errno;
		err = -VS_ERR_IO;
	}
	if (err)
		unlink(path);
	errno = why;
	return err;
}
