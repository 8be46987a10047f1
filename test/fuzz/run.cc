// The input of `run` from others: the kernel's texts, which a program can influence, the command line, and
// the paths that `run` prints.
#include <arpa/inet.h>
#include <limits.h>
#include <unistd.h>

#include <new>
#include <string>
#include <vector>

#include "input.h"
#include "libc/environment.h"
// These parsers are local to their files.
#include "run/caller.cc"
#include "run/options.cc"
#include "run/watched/instance.cc"

static char* no_variables[] = {nullptr};
char** environment = no_variables;

namespace {

struct Ended {
  int status;
};

}  // namespace

void Say(const char*, const char*) {}
bool ReportTo(int) {
  return true;
}
void Exit(int status) {
  throw Ended{status};
}
void AddError(Text*, long) {}

namespace {

void AnyText(const std::string& bytes) {
  const Exact text(bytes.c_str(), strlen(bytes.c_str()) + 1);
  Rights rights;
  ParseRights(text.data(), &rights);
  Check(rights.group_count >= 0 && rights.group_count <= kMostGroups, "groups are counted");
  MarkIn(text.data());
}

std::string LineOf(const char* name, const std::vector<uint32_t>& numbers) {
  std::string line = name;
  for (uint32_t number : numbers) line += '\t' + std::to_string(number);
  return line + " \n";
}

// Writes the text as the kernel does: fs/proc/array.c, which escapes the name's newlines.
void OfTheKernel(Input* input) {
  std::string name = input->TakeName(16);
  for (char& byte : name)
    if (byte == '\n') byte = ' ';
  std::vector<uint32_t> users(4), groups(4), others(input->Take<uint8_t>() * 2);
  for (auto* each : {&users, &groups, &others})
    for (uint32_t& number : *each) number = input->Take<uint32_t>();
  const std::string text = "Name:\t" + name + "\nUmask:\t0022\n" + LineOf("Uid:", users) +
                           LineOf("Gid:", groups) + "FDSize:\t64\n" + LineOf("Groups:", others) +
                           "NStgid:\t1\n";
  Rights rights;
  Check(ParseRights(text.c_str(), &rights), "what the kernel writes is read");
  Check(rights.user == users[3] && rights.group == groups[3], "the ids are those of the file system");
  Check(
      static_cast<size_t>(rights.group_count) == (others.size() < kMostGroups ? others.size() : kMostGroups),
      "all groups");
  for (int i = 0; i < rights.group_count; i++)
    Check(rights.groups[i] == others[static_cast<size_t>(i)], "a group");

  const auto id = input->Take<uint64_t>() >> 1;
  const std::string at = std::to_string(id);
  const std::string marked =
      "pos:\t0\nflags:\t02004000\nmnt_id:\t15\nino:\t1057\nlock:\t1: OFDLCK  ADVISORY  READ " +
      std::to_string(input->Take<int32_t>()) + " 00:0f:1057 " + at + " " + at + "\ninotify wd:1 ino:1\n";
  Check(MarkIn(marked.c_str()) == id, "the mark is found");
}

void Words(Input* input) {
  std::vector<std::string> words = {"run"};
  constexpr const char* kKnown[] = {"--interval", "--interval=",  "--all",
                                    "--json",     "--on-failure", "--on-failure=continue",
                                    "--",         "--relay",      "-h"};
  while (!input->is_used_up() && words.size() < 8) {
    const auto which = input->Take<uint8_t>();
    std::string word = which < std::size(kKnown) ? kKnown[which] : "";
    if (which >= std::size(kKnown) - 1) word += input->TakeBytes(which % 32);
    words.push_back(word.c_str());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  try {
    const Options options = ReadOptions(static_cast<int>(words.size()), argv.data());
    Check(options.interval >= 1 && options.interval <= 86400000, "the interval is one");
    Check(options.program > argv.data() && options.program < argv.data() + words.size(),
          "there is a program");
  } catch (const Ended& ended) {
    Check(ended.status == 2 || ended.status == 0, "or it is said why not");
  }
}

void Interval(const std::string& word) {
  const std::string text = word.c_str();
  try {
    const unsigned interval = ReadInterval("--interval", text.c_str());
    const size_t zeros = text.find_first_not_of('0');
    Check(zeros != std::string::npos && text.substr(zeros) == std::to_string(interval), "it is that number");
    Check(interval >= 1 && interval <= 86400000, "from a millisecond to a day");
  } catch (const Ended&) {
  }
}

void Address(Input* input) {
  RelayAddress address;
  const auto form = input->Take<uint8_t>() % 3;
  if (form == 0) {
    const std::string bytes = input->TakeBytes(200), path = bytes.c_str();
    const bool fits = !path.empty() && path.size() < sizeof address.local.sun_path;
    Check(ReadRelayAddress(("unix:" + path).c_str(), &address) == fits, "a path that fits");
    Check(!fits || path == address.local.sun_path, "it is that path");
  } else if (form == 1) {
    std::string host;
    bool is_one = true;
    for (int i = 0; i < 4; i++) {
      const unsigned number = input->Take<uint16_t>() % 300;
      host += (i > 0 ? "." : "") + std::to_string(number);
      is_one = is_one && number <= 255;
    }
    const unsigned port = input->Take<uint32_t>() % 70000;
    is_one = is_one && port > 0 && port <= 65535;
    const std::string text = "tcp:" + host + ":" + std::to_string(port);
    Check(ReadRelayAddress(text.c_str(), &address) == is_one, "numbers that are an address");
    char shown[INET_ADDRSTRLEN];
    Check(!is_one || (inet_ntop(AF_INET, &address.remote.sin_addr, shown, sizeof shown) == host &&
                      ntohs(address.remote.sin_port) == port),
          "it is that address");
  } else {
    const std::string any = "tcp:" + input->TakeBytes(64);
    if (ReadRelayAddress(any.c_str(), &address)) Check(address.size == sizeof address.remote, "its size");
  }
}

// Reads the text between quotes as JSON does.
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    const auto byte = static_cast<unsigned char>(text[i]);
    Check(byte >= 0x20 && byte != '"', "no byte stands there that JSON does not allow");
    if (byte != '\\') {
      plain += text[i];
      continue;
    }
    Check(i + 1 < text.size(), "an escape is whole");
    if (text[++i] != 'u') {
      Check(text[i] == '"' || text[i] == '\\', "an escape is one of JSON's");
      plain += text[i];
      continue;
    }
    Check(i + 4 < text.size(), "an escape is whole");
    plain += static_cast<char>(std::stoi(text.substr(i + 1, 4), nullptr, 16));
    i += 4;
  }
  return plain;
}

// `times`: escaped paths are longer than libFuzzer's inputs.
void Shown(const std::string& bytes, unsigned times) {
  std::string path;
  for (unsigned i = 0; i <= times && path.size() < PATH_MAX; i++) path += bytes.c_str();
  path = path.substr(0, PATH_MAX - 1);
  Text text;
  text.Add("{\"event\":\"watch\",\"pid\":").Add(uint64_t{4194304}).Add(",\"path\":\"");
  const size_t from = text.length();
  const std::string escaped = text.AddEscaped(path.c_str()).text() + from;
  text.Add("\",\"source\":\"").Add("inotify").Add("\"}\n");
  Check(!text.is_cut() && text.text()[text.length() - 1] == '\n', "the line is ended");
  const std::string plain = Unescaped(escaped);
  Check(path.compare(0, plain.size(), plain) == 0, "it is the path");
  Check(plain.size() == path.size() || escaped.size() > PATH_MAX - 256, "or what there is room for");
}

}  // namespace

// --help would fill the reader of stdout.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  return dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO) < 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  switch (input.Take<uint8_t>() % 6) {
    case 0:
      AnyText(input.TakeBytes(size));
      break;
    case 1:
      OfTheKernel(&input);
      break;
    case 2:
      Words(&input);
      break;
    case 3:
      Interval(input.TakeBytes(size));
      break;
    case 4:
      Address(&input);
      break;
    default: {
      const auto times = input.Take<uint8_t>();
      Shown(input.TakeBytes(size), times);
    }
  }
  return 0;
}
