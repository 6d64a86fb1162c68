#include "run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_program.h"

/* `program` by the shell: "script a b" is "sh script a b". Only comes back if that fails. */
static void become_script(const char *program, char **argv)
{
	size_t nr = 0, i;
	char **words;

	while (argv[nr])
		nr++;
	words = calloc(nr + 2, sizeof(*words));
	if (!words)
		return;
	words[0] = (char *)(uintptr_t)_PATH_BSHELL;
	words[1] = (char *)(uintptr_t)program;
	for (i = 1; i < nr; i++)
		words[i + 1] = argv[i];
	execv(words[0], words);
}

/* In the child: back to how we were started, then the command. Tells why if that fails. */
static _Noreturn void become_command(const struct vs_run_child *child, pid_t parent,
				     const char *program, char **argv, int report)
{
	int error;

	/* Whoever kills vramscope means the command. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigaction(SIGCHLD, &child->child_action, NULL);
	sigprocmask(SIG_SETMASK, &child->mask, NULL);
	execv(program, argv);
	error = errno;
	if (error == ENOEXEC && !vs_run_program_is_elf(program)) {
		become_script(program, argv);
		error = errno;
	}
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(1);
}

/*
 * Close what the command has been given, and nothing else: a pipe ends when the last one lets go of
 * it. report and the pipes of the witness are needed; stderr is for the last line.
 */
static void let_go_of_files(const struct vs_run_child *child)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned int first = 3, fd;
	unsigned int keep[2] = {(unsigned int)child->witness.answer,
				(unsigned int)child->witness.question};
	size_t i;

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (keep[0] > keep[1]) {
		fd = keep[0];
		keep[0] = keep[1];
		keep[1] = fd;
	}
	for (i = 0; i < 2 && child->witness.pid; i++) {
		if (keep[i] > first)
			close_range(first, keep[i] - 1, 0);
		first = keep[i] + 1;
	}
	close_range(first, ~0u, 0);
}

int vs_run_child_start(struct vs_run_child *child, const char *program, char **argv)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	int report[2], error = 0;
	pid_t parent = getpid();
	sigset_t all;

	child->is_stopped = false;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &child->mask);
	/* Ignored, it would make the end of a child unknowable. */
	sigaction(SIGCHLD, &standard, &child->child_action);
	if (pipe2(report, O_CLOEXEC) < 0)
		return errno;
	vs_run_witness_start(&child->witness);
	/* What came so far was meant for a command that does not exist yet: it ends us instead. */
	sigprocmask(SIG_SETMASK, &child->mask, NULL);
	sigprocmask(SIG_SETMASK, &all, NULL);
	child->pid = fork();
	if (child->pid == 0)
		become_command(child, parent, program, argv, report[1]);
	if (child->pid < 0)
		error = errno;
	close(report[1]);
	if (!error && read(report[0], &error, sizeof(error)) == (ssize_t)sizeof(error))
		waitpid(child->pid, NULL, 0);
	close(report[0]);
	if (error)
		vs_run_witness_stop(&child->witness);
	else
		let_go_of_files(child);
	return error;
}

static bool is_in_foreground(void)
{
	int tty = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool is_foreground = tty >= 0 && tcgetpgrp(tty) == getpgrp();

	if (tty >= 0)
		close(tty);
	return is_foreground;
}

/*
 * The command was stopped by `number`: stop in the same way. A SIGSTOP, which may be meant for the
 * command alone and be taken back there, only matters where a shell waits for the terminal.
 */
static void stop_too(struct vs_run_child *child, int number)
{
	struct sigaction old;
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t one;

	child->is_stopped = true;
	if (number == SIGSTOP) {
		if (is_in_foreground())
			raise(SIGSTOP);
		return;
	}
	sigemptyset(&one);
	sigaddset(&one, number);
	sigaction(number, &standard, &old);
	/* Raised while blocked: the terminal's own may be pending, and two would stop us twice. */
	raise(number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
	sigaction(number, &old, NULL);
}

/* True when the command has ended. */
static bool look_at(struct vs_run_child *child, int *status)
{
	while (waitpid(child->pid, status, WNOHANG | WUNTRACED | WCONTINUED) == child->pid) {
		if (WIFEXITED(*status) || WIFSIGNALED(*status))
			return true;
		if (WIFSTOPPED(*status))
			stop_too(child, WSTOPSIG(*status));
		else
			child->is_stopped = false;
	}
	return false;
}

/* Whether the command has not got this signal, although it would have in our place. */
static bool is_for_command(struct vs_run_child *child, const siginfo_t *info)
{
	/* The kernel signals whole groups; but a terminal that is gone, only its session's leader.
	 */
	if (info->si_code > 0)
		return info->si_signo == SIGHUP && getsid(0) == getpid();
	if (getpgid(child->pid) != getpgrp())
		return true;
	return !vs_run_witness_saw(&child->witness, info->si_signo);
}

static void pass_on(struct vs_run_child *child, const siginfo_t *info)
{
	if (info->si_signo == SIGCONT) {
		/* Marked as going on before we were, if the group was meant. */
		if (child->is_stopped)
			kill(child->pid, SIGCONT);
		return;
	}
	if (!is_for_command(child, info))
		return;
	if (info->si_code == SI_QUEUE)
		sigqueue(child->pid, info->si_signo, info->si_value);
	else
		kill(child->pid, info->si_signo);
}

int vs_run_child_wait(struct vs_run_child *child)
{
	siginfo_t info;
	sigset_t all;
	int status;

	sigfillset(&all);
	while (!look_at(child, &status))
		if (sigwaitinfo(&all, &info) > 0 && info.si_signo != SIGCHLD)
			pass_on(child, &info);
	vs_run_witness_stop(&child->witness);
	return status;
}

void vs_run_child_end_as(int wait_status)
{
	const struct rlimit none = {0, 0};
	sigset_t one;
	int number;

	if (WIFEXITED(wait_status))
		_exit(WEXITSTATUS(wait_status));
	number = WTERMSIG(wait_status);
	/* The command's core tells something, ours does not. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	signal(number, SIG_DFL);
	raise(number);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	_exit(128 + number); /* the first process of a container survives its own signals */
}
