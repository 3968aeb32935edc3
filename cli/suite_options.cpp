#include "cli/suite_options.h"

#include <CLI/CLI.hpp>

#include <filesystem>

namespace hybridscope {
namespace {

const CLI::Validator kShard(
    [](std::string& text) {
      const auto shard = parse_shard(text);
      return shard.ok() ? std::string() : shard.error().message;
    },
    "", "shard");

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
                  "only scenarios whose name, or file without .json, matches (* ? [a-z])")
      ->type_name("GLOB");
  command
      .add_option("--rerun-failed", options.failed_in,
                  "only scenarios that are \"not ok\" in this report of --tap")
      ->type_name("FILE.tap");
}

}  // namespace hybridscope
