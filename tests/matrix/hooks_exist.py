"""Every function in our list of hooks is what we take it for, in each release."""
import re
import subprocess


def exported(library):
    """Names that a library gives to others, with their versions."""
    text = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True,
                          capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        match = len(words) == 8 and words[6] != "UND" and re.fullmatch(r"(\w+)@@?(\S+)", words[7])
        if match:
            found[match[1]] = match[2]
    return found


def check_driver(release, headers, reference, hooks):
    for hook in hooks.driver:
        arguments = headers.driver.get(hook.symbol)
        row = (hook.name, hook.version, hook.is_per_thread)
        if hook.version > release.version:
            if arguments is not None or row in headers.versions:
                yield f"{hook.symbol} is there already, though it is of {hook.version}"
        elif arguments is None:
            yield f"{hook.symbol} is not declared"
        elif row not in headers.versions:
            yield f"{hook.symbol} is not what {hook.name} means from {hook.version} on"
        elif arguments != reference.driver[hook.symbol]:
            yield (f"{hook.symbol} takes ({', '.join(arguments)}), "
                   f"not ({', '.join(reference.driver[hook.symbol])})")


def check_runtime(release, headers, reference, library, hooks):
    names = exported(library)
    if len(names) < 300:
        yield f"{library} exports only {len(names)} names"
    for symbol in hooks.runtime:
        plain = symbol.removesuffix("_ptsz")
        if names.get(symbol) != release.soname:
            yield f"{symbol} has the version {names.get(symbol)}, not {release.soname}"
        if headers.runtime.get(plain) != reference.runtime[plain]:
            yield f"{symbol} takes {headers.runtime.get(plain)}, not {reference.runtime[plain]}"


def check(files, headers, reference, hooks):
    release = files.release
    wrong = [*check_driver(release, headers, reference, hooks),
             *check_runtime(release, headers, reference, files.library, hooks)]
    return [f"{release.name}: {text}" for text in wrong]


def count(release, hooks):
    """How many hooks the release has, and how many there are."""
    driver = sum(hook.version <= release.version for hook in hooks.driver)
    return driver + len(hooks.runtime), len(hooks.driver) + len(hooks.runtime)
