#include "cli/commands.h"

#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/check/finding.h"
#include "core/model/model_presets.h"
#include "sessions/job/version.h"
#include "storage/schema.h"

namespace hybridscope {
namespace {

void line(std::string_view what, const std::string& found) {
  fmt::print("{:<16}{}\n", what, found);
}

std::string memory_text() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  return fmt::format("{:.1f} GiB", static_cast<double>(pages) * static_cast<double>(page_size) /
                                       (1024.0 * 1024.0 * 1024.0));
}

}  // namespace

void describe_doctor(CLI::App& command) {
  command.footer(
      "Example:\n"
      "  hybridscope doctor\n"
      "\n"
      "Prints the version, compiler, libraries and machine: add it to a bug report.\n"
      "Exit codes: 0 fine, 2 usage, 4 output that cannot be written.");
}

int doctor_command(const Backends& backends) {
  utsname system{};
  uname(&system);
  line("hybridscope", fmt::format("{} ({} build)", kVersion, kBuildType));
  line("compiler", kCompiler);
  line("system", fmt::format("{} {} {}, {} processors, {}", system.sysname, system.release,
                             system.machine, sysconf(_SC_NPROCESSORS_ONLN), memory_text()));
  line("libraries",
       fmt::format("fmt {}.{}.{}, nlohmann-json {}.{}.{}, CLI11 {}, simdjson {}, zlib {}",
                   FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
                   NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                   NLOHMANN_JSON_VERSION_PATCH, CLI11_VERSION, kSimdjsonVersion, kZlibVersion));
  line("models", fmt::format("{} presets", model_preset_names().size()));
  line("rules", fmt::format("{} kinds of findings", rule_table().size()));
  line("CUDA", backends.describe_cuda());
  line("GUI",
       backends.describe_gui == nullptr ? "built without the window" : backends.describe_gui());
  line("sessions",
       fmt::format("SQLite {}, session files up to version {}", sqlite_version(), kSchemaVersion));
  line("terminal", isatty(STDOUT_FILENO) != 0 ? "yes" : "no");
  return kExitFine;
}

}  // namespace hybridscope
