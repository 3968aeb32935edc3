// Which scenarios a suite has, and which of them run here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/shard.h"
#include "core/base/result.h"

namespace hybridscope {

struct SuiteEntry {
  std::string file{};            // as given, or inside a folder that was given
  std::string name{};            // of the scenario; of the file where the scenario cannot be read
  std::optional<Error> error{};  // why it cannot be read
};

// Every *.json right inside a folder in the order of their names, files as given, none twice. What
// is not there or cannot be read is an entry with its error.
std::vector<SuiteEntry> find_scenarios(std::span<const std::string> paths);

// Does the entry's name, or its file's name without .json, match the glob? An empty one matches.
bool matches(const SuiteEntry& entry, const std::string& filter);

struct SuiteSelection {
  std::vector<SuiteEntry> found;  // all there are
  std::vector<SuiteEntry> runs;   // those that match the filter and fall into the shard
  std::size_t num_matching = 0;   // those that match the filter
};

// What is chosen from: `failed`, where there is one, has the only names that do.
struct SuiteChoice {
  std::string filter;  // glob, empty: all
  std::optional<std::vector<std::string>> failed;
  std::optional<Shard> shard;
};

SuiteSelection select_scenarios(std::vector<SuiteEntry> found, const SuiteChoice& choice);

}  // namespace hybridscope
