#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000

const char *vs_doctor_get_state_name(enum vs_finding_state state)
{
	static const char *const names[] = {
		[VS_FINDING_GOOD] = "good", [VS_FINDING_NOTE] = "note", [VS_FINDING_BAD] = "bad"};

	return names[state];
}

enum vs_finding_state vs_doctor_get_worst(const struct vs_doctor *doctor)
{
	enum vs_finding_state worst = VS_FINDING_GOOD;
	size_t i;

	for (i = 0; i < doctor->nr_findings; i++)
		if (doctor->findings[i].state > worst)
			worst = doctor->findings[i].state;
	return worst;
}

void vs_doctor_add(struct vs_doctor *doctor, enum vs_finding_state state, const char *topic,
		   const char *remedy, const char *format, ...)
{
	struct vs_finding *finding = &doctor->findings[doctor->nr_findings];
	va_list arguments;

	if (doctor->nr_findings == VS_DOCTOR_MAX)
		return;
	doctor->nr_findings++;
	finding->state = state;
	finding->topic = topic;
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy ? remedy : "");
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
}

static int64_t get_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* True: all of it, up to the end. */
static bool read_all(int fd, char *text, size_t size)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	int64_t end_ms = get_ms() + PATIENCE_MS, left;
	size_t used = 0;
	ssize_t got;

	while ((left = end_ms - get_ms()) > 0) {
		if (poll(&waiting, 1, (int)left) <= 0)
			continue;
		got = read(fd, text + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		used += (size_t)got;
		text[used] = '\0';
		if (used == size - 1)
			return true;
	}
	return false;
}

bool vs_doctor_ask(char *text, size_t size, void (*ask)(int out, void *context), void *context)
{
	int pipes[2], status = -1;
	bool is_whole;
	pid_t child;

	text[0] = '\0';
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return false;
	child = fork();
	if (child == 0) {
		ask(pipes[1], context);
		_exit(0);
	}
	close(pipes[1]);
	is_whole = child > 0 && read_all(pipes[0], text, size);
	close(pipes[0]);
	if (child <= 0)
		return false;
	if (!is_whole)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
