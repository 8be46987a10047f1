#include "run/options.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "libc/environment.h"
#include "run/base/report.h"

namespace {

// Short: src/cli/run/run.ts says more.
constexpr char kHelp[] =
    R"(usage: inotify-bridge run [OPTIONS] -- PROGRAM [ARG...]

Runs PROGRAM so that it hears by inotify(7) of changes on mounts that deliver no events: virtiofs, NFS, FUSE, 9p, SMB.

  --interval MS           between two looks at what is watched on such a mount; 250
  --backend NAME          auto, the default; poll: looks at every mount; inotify: at none
  --all                   the same as --backend poll
  --relay ADDRESS         unix:PATH or tcp:IPV4:PORT of an 'inotify-bridge relay': looks when that hints, else every 30 s
  --try                   start PROGRAM in any case, also where it cannot be served
  --on-failure continue   PROGRAM stays if this process is killed; by default it gets SIGTERM
  --verbose, --json       say on stderr what is watched by whom, and how

Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL, INOTIFY_BRIDGE_RELAY_TOKEN.
Exit code: PROGRAM's; 127 if it is not found, 126 if it cannot be executed; 1 if it cannot be served; 2 wrong usage.
)";

[[noreturn]] void Misused(const char* what, const char* why, const char* word) {
  Text text;
  text.Add(what).Add(why).Add(word).Add(" (see 'inotify-bridge run --help')");
  Say(text.text());
  Exit(2);
}

bool Is(const char* word, const char* name) {
  return strcmp(word, name) == 0;
}

constexpr unsigned kDay = 86400000;

// No more than a day has milliseconds; else kDay + 1.
unsigned ReadNumber(const char* word) {
  unsigned number = 0;
  const char* at = word;
  for (; *at >= '0' && *at <= '9' && number <= kDay; at++)
    number = number * 10 + static_cast<unsigned>(*at - '0');
  return *at != '\0' || at == word || number > kDay ? kDay + 1 : number;
}

unsigned ReadInterval(const char* name, const char* word) {
  const unsigned number = ReadNumber(word);
  if (number == 0 || number > kDay) Misused(name, " takes milliseconds, from 1 to 86400000, and not ", word);
  return number;
}

Backend ReadBackend(const char* name, const char* word) {
  if (Is(word, "auto")) return Backend::kAuto;
  if (Is(word, "inotify")) return Backend::kInotify;
  if (Is(word, "poll")) return Backend::kPoll;
  Misused(name, " takes 'auto', 'inotify' or 'poll', and not ", word);
}

// They win, as for the other commands. Empty is as good as unset.
void ReadEnvironment(Options* options) {
  constexpr char kInterval[] = "INOTIFY_BRIDGE_INTERVAL";
  constexpr char kBackend[] = "INOTIFY_BRIDGE_BACKEND";
  const char* interval = Variable(kInterval);
  const char* backend = Variable(kBackend);
  if (*interval != '\0') options->interval = ReadInterval(kInterval, interval);
  if (*backend != '\0') options->backend = ReadBackend(kBackend, backend);
}

}  // namespace

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const char* word = argv[i];
    // `--name VALUE` or `--name=VALUE`; nullptr if the word is another option.
    auto value_of = [&](const char* name) -> const char* {
      const size_t length = strlen(name);
      if (strcspn(word, "=") != length || memcmp(word, name, length) != 0) return nullptr;
      if (word[length] == '=') return word + length + 1;
      if (i + 1 >= argc) Misused("there is no value behind ", word, "");
      return argv[++i];
    };
    if (Is(word, "--")) {
      options.program = argv + i + 1;
      break;
    }
    if (Is(word, "-h") || Is(word, "--help")) {
      syscall(SYS_write, STDOUT_FILENO, kHelp, sizeof kHelp - 1);
      Exit(0);
    }
    if (const char* interval = value_of("--interval")) {
      options.interval = ReadInterval("--interval", interval);
    } else if (const char* backend = value_of("--backend")) {
      options.backend = ReadBackend("--backend", backend);
    } else if (const char* relay = value_of("--relay")) {
      if (!ReadRelayAddress(relay, &options.relay))
        Misused("--relay", " takes unix:PATH, or tcp:HOST:PORT with an IPv4 address, and not ", relay);
    } else if (Is(word, "--all")) {
      options.backend = Backend::kPoll;
    } else if (Is(word, "--try")) {
      options.attempt = true;
    } else if (Is(word, "--verbose")) {
      options.verbose = true;
    } else if (Is(word, "--as-child")) {
      options.as_child = true;
    } else if (Is(word, "--json")) {
      options.json = true;
    } else if (const char* report = value_of("--report")) {
      if (!ReportTo(static_cast<int>(ReadNumber(report))))
        Misused("--report takes an open descriptor, and not ", report, "");
    } else if (const char* what = value_of("--on-failure")) {
      if (!Is(what, "continue") && !Is(what, "end"))
        Misused("--on-failure", " takes 'continue' or 'end', and not ", what);
      options.goes_on = Is(what, "continue");
    } else if (*word == '-') {
      Misused("unknown option ", word, "");
    } else {
      Misused("write the program behind --, as in: inotify-bridge run -- ", word, "");
    }
  }
  if (options.program == nullptr || *options.program == nullptr)
    Misused("write the program behind --, as in: inotify-bridge run -- ", "nginx", "");
  ReadEnvironment(&options);
  if (options.relay.text != nullptr && options.backend == Backend::kInotify)
    Misused("--relay", " does not go with --backend ", "inotify, which looks at nothing");
  return options;
}
