"""Says in a few lines how a ctest run went.

usage: summary.py PRESET JUNIT_FILE TOTALS

Prints one line of counts, then every failure with its output and every skipped test with its
reason. Appends "passed failed skipped" to TOTALS.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def judge(case):
    """passed, failed or skipped. A test that could not be started was not skipped: it failed."""
    skipped = case.find("skipped")
    if skipped is not None:
        wanted = skipped.get("message", "").startswith("SKIP_")
        return "skipped" if wanted else "failed"
    return "passed" if case.get("status") == "run" else "failed"


def why_failed(case):
    for kind in ("failure", "skipped"):
        found = case.find(kind)
        if found is not None and found.get("message"):
            return found.get("message")
    return "see its output"


def skipped_parts(name, output):
    """cmocka passes a program of which it skipped a part; that must not go unseen.

    The reason is what the part printed last, if anything.
    """
    pattern = r"^\[ RUN      \] (\w+)\n((?:(?!\[ RUN).*\n)*?)\[  SKIPPED \] \1$"
    return [f"  skipped inside {name}: {part}: {last_line(said)}"
            for part, said in re.findall(pattern, output, re.M)]


def read_cases(path):
    try:
        return list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        print(f"  ctest left no result: {error}")
        return None


def main():
    preset, path, totals = sys.argv[1:]
    cases = read_cases(path)
    count = {"passed": 0, "failed": 0, "skipped": 0}
    seconds = 0.0
    lines = []
    if cases is None:
        count["failed"] = 1
        cases = []
    for case in cases:
        name = case.get("name")
        output = case.findtext("system-out") or ""
        verdict = judge(case)
        count[verdict] += 1
        seconds += float(case.get("time") or 0)
        if verdict == "failed":
            lines.append(f"  FAILED {name}: {why_failed(case)}")
            lines += ["    | " + line for line in output.splitlines()[-60:]]
        elif verdict == "skipped":
            lines.append(f"  skipped {name}: {last_line(output)}")
        else:
            lines += skipped_parts(name, output)
    print(f"{preset}: {count['passed']} passed, {count['failed']} failed, "
          f"{count['skipped']} skipped ({seconds:.0f} s of tests)")
    print("\n".join(lines), end="\n" if lines else "")
    with open(totals, "a", encoding="ascii") as file:
        file.write(f"{count['passed']} {count['failed']} {count['skipped']}\n")


if __name__ == "__main__":
    main()
