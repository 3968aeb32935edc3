#include "cli/suite_selection.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope {

namespace {

const CLI::Validator kShard(
    [](std::string& text) {
      const auto shard = parse_shard(text);
      return shard.ok() ? std::string() : shard.error().message;
    },
    "", "shard");

namespace fs = std::filesystem;

std::string stem_of(const std::string& file) { return fs::path(file).stem().string(); }

SuiteEntry entry_of(const std::string& file) {
  auto scenario = read_scenario_file(file);
  if (!scenario.ok()) return {.file = file, .name = stem_of(file), .error = scenario.error()};
  return {.file = file, .name = scenario.value().name, .error = std::nullopt};
}

// A broken link is a scenario that cannot be read; a pipe, say, is not a scenario.
bool is_scenario_file(const fs::directory_entry& entry) {
  const fs::path path = entry.path();
  if (path.extension() != ".json" || path.filename().string().starts_with('.')) return false;
  std::error_code error;
  const fs::file_type type = entry.status(error).type();
  return type == fs::file_type::regular || type == fs::file_type::not_found;
}

Result<std::vector<std::string>> list_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_scenario_file(*it)) files.push_back(it->path().string());
  if (error)
    return Error{ErrorKind::io, fmt::format("cannot list {}: {}", folder, error.message())};
  std::ranges::sort(files);
  return files;
}

std::string identity_of(const std::string& file) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(file, error);
  return error ? file : path.string();
}

}  // namespace

bool SuiteOptions::is_suite() const {
  if (paths.size() > 1 || shard || !filter.empty() || !failed_in.empty()) return true;
  std::error_code error;
  return paths.size() == 1 && std::filesystem::is_directory(paths.front(), error);
}

void add_suite_options(CLI::App& command, SuiteOptions& options) {
  command
      .add_option_function<std::string>(
          "--shard",
          [&options](const std::string& text) { options.shard = parse_shard(text).value(); },
          "run one of N parts of the scenarios, chosen by their names (also GTEST_TOTAL_SHARDS "
          "with GTEST_SHARD_INDEX)")
      ->check(kShard)
      ->type_name("I/N");
  command
      .add_option("--filter", options.filter,
                  "only scenarios whose name (or file name without .json) matches (* ? [a-z])")
      ->type_name("GLOB");
  command
      .add_option("--rerun-failed", options.failed_in,
                  "only scenarios that are \"not ok\" in this report of --tap")
      ->type_name("FILE.tap");
}

std::vector<SuiteEntry> find_scenarios(std::span<const std::string> paths) {
  std::vector<SuiteEntry> found;
  std::set<std::string> known;
  const auto add = [&](const std::string& file) {
    if (known.insert(identity_of(file)).second) found.push_back(entry_of(file));
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(path);
      continue;
    }
    const auto files = list_folder(path);
    if (!files.ok())
      found.push_back({.file = path, .name = path, .error = files.error()});
    else
      for (const std::string& file : files.value()) add(file);
  }
  return found;
}

bool matches(const SuiteEntry& entry, const std::string& filter) {
  return filter.empty() || fnmatch(filter.c_str(), entry.name.c_str(), 0) == 0 ||
         fnmatch(filter.c_str(), stem_of(entry.file).c_str(), 0) == 0;
}

SuiteSelection select_scenarios(std::vector<SuiteEntry> found, const SuiteChoice& choice) {
  const auto& [filter, failed, shard] = choice;
  SuiteSelection selection;
  selection.found = std::move(found);
  for (const SuiteEntry& entry : selection.found) {
    if (!matches(entry, filter)) continue;
    if (failed && std::ranges::find(*failed, entry.name) == failed->end()) continue;
    ++selection.num_matching;
    if (!shard || shard_of(entry.name, shard->count) == shard->index)
      selection.runs.push_back(entry);
  }
  return selection;
}

}  // namespace hybridscope
