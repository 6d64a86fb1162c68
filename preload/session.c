#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "compose.h"
#include "info.h"
#include "message.h"
#include "output.h"
#include "private_library.h"
#include "writer.h"

#define SHM_FOLDER     "/dev/shm"
#define BUFFER_SIZE    (64u << 10)
#define NR_LAST_CHANCE 1000
#define HIGH_FD        500 /* out of the way of programs that count on small ones */

static struct {
	struct vs_live_log log;
	struct vs_writer *writer; /* NULL: not open, or given up */
	bool is_parked;
	uint64_t position;   /* what lies below was handed to the writer */
	uint64_t nr_records; /* so many */
	bool has_own_files;
	int fd; /* the writer's; only looked at */
	dev_t device;
	ino_t inode;
	char path[PATH_MAX];
	char log_path[PATH_MAX];
	uint8_t buffer[BUFFER_SIZE];
} session;

static const char *error_text(int error)
{
#if __GLIBC_PREREQ(2, 32)
	/* strerror may translate, and allocate. */
	const char *text = strerrordesc_np(error);
#else
	const char *text = strerror(error);
#endif

	return text ? text : "unknown error";
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* /proc/self/stat: proc(5). All zero without /proc. */
struct stat_fields {
	char state;           /* 3, of the first thread */
	uint64_t nr_threads;  /* 20 */
	uint64_t start_ticks; /* 22 */
};

static uint64_t read_number(const char *c)
{
	uint64_t number = 0;

	for (; *c >= '0' && *c <= '9'; c++)
		number = number * 10 + (uint64_t)(*c - '0');
	return number;
}

static void read_stat(struct stat_fields *fields)
{
	char text[1024];
	const char *c;
	ssize_t size;
	int fd;

	memset(fields, 0, sizeof(*fields));
	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	/* The name in field 2 may hold anything, but no parenthesis comes after it. */
	c = strrchr(text, ')');
	for (int field = 3; c && field <= 22; field++) {
		c = strchr(c, ' ');
		if (!c)
			break;
		c++;
		if (field == 3)
			fields->state = *c;
		else if (field == 20)
			fields->nr_threads = read_number(c);
		else if (field == 22)
			fields->start_ticks = read_number(c);
	}
}

bool vs_session_is_deserted(void)
{
	struct stat_fields fields;

	read_stat(&fields);
	/* The first thread stays as a zombie until the last one has ended. */
	return fields.state == 'Z' && fields.nr_threads == 2;
}

static void collect_facts(struct vs_live_log_facts *facts, const struct vs_settings *settings)
{
	uint64_t fallback[2] = {vs_clock_wall_ns(), (uint64_t)getpid()};
	struct stat_fields fields;
	struct stat namespace;

	read_stat(&fields);
	memset(facts, 0, sizeof(*facts));
	facts->trace_path = session.path;
	facts->ring_size = settings->ring_size;
	facts->start_ticks = fields.start_ticks;
	if (stat("/proc/self/ns/pid", &namespace) == 0)
		facts->pid_namespace = namespace.st_ino;
	if (getrandom(facts->identity, sizeof(facts->identity), GRND_NONBLOCK) !=
	    sizeof(facts->identity))
		memcpy(facts->identity, fallback, sizeof(fallback));
}

static void name_shm_log(const struct vs_live_log_facts *facts)
{
	char identity[33];
	struct vs_compose text;

	vs_info_put_identity(identity, facts->identity);
	vs_compose_init(&text, session.log_path, sizeof(session.log_path));
	vs_compose_add(&text, SHM_FOLDER "/vramscope-");
	vs_compose_add(&text, identity);
	vs_compose_add(&text, VS_LIVE_SUFFIX);
}

/* Beside the trace, or in memory where the trace's file system cannot promise pages. */
static int make_log(const struct vs_live_log_facts *facts, bool *is_elsewhere)
{
	struct vs_compose text;
	int err;

	vs_compose_init(&text, session.log_path, sizeof(session.log_path));
	vs_compose_add(&text, session.path);
	vs_compose_add(&text, VS_LIVE_SUFFIX);
	*is_elsewhere = false;
	if (!text.is_cut) {
		err = vs_live_log_create(&session.log, session.log_path, facts);
		if (!err)
			return 0;
	}
	*is_elsewhere = true;
	name_shm_log(facts);
	return vs_live_log_create(&session.log, session.log_path, facts);
}

static int add_number(const char *key, uint64_t number)
{
	char digits[24];
	struct vs_compose text;

	vs_compose_init(&text, digits, sizeof(digits));
	vs_compose_add_number(&text, number);
	return vs_writer_add_info(session.writer, key, digits);
}

static int add_kept_variables(const struct vs_settings *settings)
{
	char key[64];
	struct vs_compose text;
	int err = 0;

	for (int i = 0; i < VS_SETTINGS_NR_KEPT && settings->kept[i].name && !err; i++) {
		vs_compose_init(&text, key, sizeof(key));
		vs_compose_add(&text, VS_INFO_ENV_PREFIX);
		vs_compose_add(&text, settings->kept[i].name);
		err = vs_writer_add_info(session.writer, key, settings->kept[i].value);
	}
	return err;
}

static int write_info(const struct vs_session_plan *plan, const struct vs_live_log_facts *facts,
		      bool is_elsewhere)
{
	const struct vs_settings *settings = plan->settings;
	char identity[33];
	struct {
		const char *key;
		const char *value;
	} texts[] = {
		{VS_INFO_VERSION, VS_VERSION},
		{VS_INFO_IDENTITY, identity},
		{VS_INFO_COMMAND, settings->command},
		{VS_INFO_EXE, plan->exe},
		{VS_INFO_CWD, settings->cwd},
		{VS_INFO_HOST, settings->host},
		{VS_INFO_RANK, settings->rank},
		{VS_INFO_CLOCK, vs_clock_name()},
		{VS_INFO_LIVE, is_elsewhere ? session.log_path : NULL},
	};
	int err = 0;

	vs_info_put_identity(identity, facts->identity);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		if (texts[i].value)
			err = vs_writer_add_info(session.writer, texts[i].key, texts[i].value);
	err = err ? err : add_number(VS_INFO_PID, (uint64_t)getpid());
	err = err ? err : add_number(VS_INFO_PPID, (uint64_t)getppid());
	err = err ? err : add_number(VS_INFO_UID, getuid());
	err = err ? err : add_number(VS_INFO_START, plan->start_wall_ns);
	err = err ? err : add_number(VS_INFO_PAGE_SIZE, (uint64_t)sysconf(_SC_PAGESIZE));
	err = err ? err : add_kept_variables(settings);
	return err ? err : vs_writer_flush(session.writer);
}

/* Remembers which file the descriptor is, where the program could close it. */
static int guard_fd(int fd)
{
	struct stat file;
	int high;

	if (!session.has_own_files) {
		high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
		if (high >= 0) {
			close(fd);
			fd = high;
		}
	}
	session.fd = fd;
	if (fstat(fd, &file) == 0) {
		session.device = file.st_dev;
		session.inode = file.st_ino;
	}
	return fd;
}

static void say_cannot(const char *what, const char *path, int error)
{
	vs_message_post("nothing is recorded: ", what, " ", path, ": ", error_text(error), NULL);
}

int vs_session_open(const struct vs_session_plan *plan)
{
	struct vs_live_log_facts facts;
	bool is_elsewhere;
	int fd, err;

	session.has_own_files = plan->has_own_files;
	session.position = 0;
	session.nr_records = 0;
	session.is_parked = false;
	err = vs_output_open(plan->settings, session.path, &fd);
	if (err) {
		say_cannot("cannot make the trace", session.path, errno);
		return err;
	}
	fd = guard_fd(fd);
	collect_facts(&facts, plan->settings);
	err = make_log(&facts, &is_elsewhere);
	if (err) {
		say_cannot("cannot make the log", session.log_path, errno);
		close(fd);
		goto remove_trace;
	}
	err = vs_writer_create(&session.writer, fd,
			       plan->is_bare ? NULL : vs_private_library_zlib());
	if (err)
		goto remove_log;
	err = write_info(plan, &facts, is_elsewhere);
	if (err)
		goto abandon_writer;
	vs_output_add_to_index(plan->settings, session.path);
	return 0;
abandon_writer:
	vs_writer_abandon(session.writer);
	session.writer = NULL;
remove_log:
	say_cannot("cannot write the trace", session.path, errno);
	unlink(session.log_path);
	vs_live_log_detach(&session.log);
remove_trace:
	unlink(session.path);
	return err;
}

struct vs_live_log *vs_session_log(void)
{
	return &session.log;
}

/* ---- From the log into the trace ------------------------------------------------------------- */

static bool is_still_ours(void)
{
	struct stat file;

	return session.has_own_files ||
	       (fstat(session.fd, &file) == 0 && file.st_dev == session.device &&
		file.st_ino == session.inode);
}

static void give_up(int error)
{
	vs_message_post("the trace ", session.path, " cannot be written any more (",
			error_text(error), "); its log keeps what fits, the rest is counted", NULL);
	vs_writer_abandon(session.writer);
	session.writer = NULL;
}

/* Records as far as they are published; moves the log's tail over what is in the file. */
static int take_published(void)
{
	uint64_t first;
	uint32_t nr;
	size_t size;
	int err = 0;

	do {
		first = session.position;
		size = vs_live_log_read(&session.log, &session.position, session.buffer,
					sizeof(session.buffer), &nr);
		session.nr_records += nr;
		if (size)
			err = vs_writer_add_records(session.writer, first, session.buffer, size,
						    nr);
		/* Small blocks compress badly, but a ring that fills cannot wait for more. */
		if (!err && vs_live_log_is_filling(&session.log))
			err = vs_writer_flush(session.writer);
		if (!err)
			vs_live_log_release(&session.log, vs_writer_get_end(session.writer));
	} while (size && !err);
	return err;
}

bool vs_session_take(void)
{
	int err;

	if (!session.writer)
		return false;
	if (!is_still_ours()) {
		vs_message_post("the program closed the trace ", session.path,
				"; its log keeps what fits", NULL);
		session.writer = NULL; /* not closed: the descriptor is the program's now */
		return false;
	}
	err = take_published();
	if (err)
		give_up(errno);
	return !err;
}

void vs_session_park(void)
{
	if (!vs_session_take())
		return;
	if (vs_writer_flush(session.writer)) {
		give_up(errno);
		return;
	}
	vs_live_log_release(&session.log, vs_writer_get_end(session.writer));
	vs_writer_abandon(session.writer);
	session.writer = NULL;
	session.is_parked = true;
}

/* Opens the trace again, in whatever thread this is. */
static void unpark(void)
{
	struct stat file;
	int fd = open(session.path, O_WRONLY | O_CLOEXEC);

	session.is_parked = false;
	session.has_own_files = false;
	if (fd < 0)
		return;
	if (fstat(fd, &file) < 0 || file.st_dev != session.device || file.st_ino != session.inode ||
	    lseek(fd, 0, SEEK_END) < 0) {
		close(fd);
		return;
	}
	session.fd = fd;
	if (vs_writer_resume(&session.writer, fd, vs_private_library_zlib(), session.nr_records))
		session.writer = NULL;
}

void vs_session_finish(void)
{
	if (session.is_parked)
		unpark();
	/* A thread may be about to publish; one that was stopped for good is not waited for. */
	for (int i = 0; i < NR_LAST_CHANCE; i++) {
		if (!vs_session_take())
			return;
		if (session.position == vs_live_log_get_head(&session.log))
			break;
		sched_yield();
	}
	if (session.position != vs_live_log_get_head(&session.log)) {
		vs_writer_abandon(session.writer);
	} else if (vs_writer_flush(session.writer)) {
		give_up(errno);
	} else if (vs_writer_close(session.writer, vs_live_log_get_lost(&session.log)) == 0) {
		unlink(session.log_path);
	}
	session.writer = NULL;
}

void vs_session_detach(void)
{
	int fd = session.fd;

	vs_live_log_detach(&session.log);
	/* Where descriptors are shared the child has a copy, unless the program closed it. */
	if (session.writer && !session.has_own_files && is_still_ours())
		close(fd);
	session.writer = NULL;
	session.is_parked = false;
	session.fd = -1;
}
