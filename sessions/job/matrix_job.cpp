#include "sessions/job/matrix_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "core/caching/mamba_manager_policies.h"
#include "core/model/checkpoint_layers.h"
#include "sessions/job/shared_work.h"
#include "sessions/matrix/random_scenario.h"
#include "sessions/scenario/release_defaults.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::string_view kPolicies = "policies";  // section of the settings

// The row with this name. Error: there is none; the message has the nearest.
Result<const Setting*> find_policy(const std::string& name) {
  if (const Setting* setting = find_setting(kPolicies, name)) return setting;
  std::vector<std::string_view> known;
  for (const Setting& row : settings_table())
    if (row.section == kPolicies) known.push_back(row.name);
  return invalid_input(fmt::format("no policy is called {}{} (docs/differences.md lists them)",
                                   quoted_text(name), nearest_key_hint(name, known)));
}

// Reads "name=value"; the last value of a name counts. Error: no such policy or value, with the
// nearest.
Result<PolicyOverrides> read_policies(const std::vector<std::string>& texts) {
  EngineSettings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto policy = find_policy(text.substr(0, equals));
    if (!policy.ok()) return policy.error();
    if (equals == std::string::npos)
      return invalid_input(fmt::format("{} has no value (expected NAME=VALUE)", quoted_text(text)));
    if (Status set = set_setting_text(settings, *policy.value(), text.substr(equals + 1));
        !set.ok())
      return set.error();
  }
  return settings.policies;
}

// "name=value name=value" in the order of the table.
std::string policies_text(const PolicyOverrides& policies) {
  EngineSettings settings;
  settings.policies = policies;
  std::string text;
  for (const Setting& row : settings_table()) {
    if (row.section != kPolicies) continue;
    if (const auto value = get_setting(settings, row))
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : " ", row.name, std::get<std::string>(*value));
  }
  return text;
}

Result<CellFilter> read_filter(const std::vector<std::string>& only) {
  CellFilter filter;
  for (const std::string& text : only)
    if (Status added = filter.add(text); !added.ok()) return added.error();
  return filter;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// "matrix-safe", "matrix-vllm@2026-06-29-2of7".
std::string default_folder(const MatrixHeader& header, const Shard& shard) {
  std::string folder = fmt::format("matrix-{}", header.engine);
  if (shard.count > 1) folder += fmt::format("-{}of{}", shard.index, shard.count);
  return folder;
}

CellRunOptions run_options_of(const MatrixHeader& header, const EngineProfile& profile,
                              const PolicyOverrides& policies) {
  CellRunOptions run;
  run.profile = profile;
  run.policies = policies;
  run.seed = header.seed;
  run.num_scenarios = header.scenarios_per_cell;
  return run;
}

// A release may lack a mode, a mode or a method with a runner (release_defaults.h), or layers that
// store states inside a prefill; the reference lacks a method.
bool exists_in(const MatrixCell& cell, const std::string& engine) {
  EngineSettings settings = cell_settings(cell);
  settings.engine = parse_engine_profile(engine);
  const std::optional<Release> release = release_of(settings);
  const PolicySet policies = resolve_policies(settings);
  if (cell.checkpoints() == Checkpoints::in_prefills &&
      (policies.is(PrefillCheckpoint::never) || (release && policies.is(CheckpointLayers::none))))
    return false;
  // What no profile has is told as refused.
  if (!release)
    return !find_setting_conflict(settings) || find_setting_conflict(cell_settings(cell));
  return !release_conflict(settings) &&
         !runner_conflict(*release, {.runner = cell.runner(),
                                     .mode = cell.mamba_cache_mode(),
                                     .method = cell.speculative_method(),
                                     .async_scheduling = cell.async_scheduling()});
}

}  // namespace

Result<std::vector<MatrixCell>> cells_of(const MatrixHeader& header) {
  const auto filter = read_filter(words_of(header.filter));
  if (!filter.ok()) return filter.error();
  const auto shard = parse_shard(header.shard);
  if (!shard.ok()) return shard.error();
  std::vector<MatrixCell> cells;
  for (const MatrixCell& cell : all_cells())
    if (filter.value().takes(cell) && exists_in(cell, header.engine) &&
        shard_of(cell_name(cell), shard.value().count) == shard.value().index)
      cells.push_back(cell);
  return cells;
}

Result<MatrixJob> make_matrix_job(const MatrixJobOptions& options, const Backends& backends) {
  const auto policies = read_policies(options.policies);
  if (!policies.ok()) return policies.error();
  const auto filter = read_filter(options.only);
  if (!filter.ok()) return filter.error();
  const auto shard = parse_shard(options.shard.empty() ? "1/1" : options.shard);
  if (!shard.ok()) return shard.error();
  auto program = this_program();
  if (!program.ok()) return program.error();
  MatrixJob job;
  job.header = {.engine = options.engine,
                .policies = policies_text(policies.value()),
                .seed = options.seed,
                .scenarios_per_cell = options.scenarios,
                .in_bytes = !options.labels_only,
                .filter = filter.value().text(),
                .program = std::move(program).value(),
                .shard = shard_text(shard.value())};
  auto cells = cells_of(job.header);
  if (!cells.ok()) return cells.error();
  job.options.cells = std::move(cells).value();
  if (std::ranges::none_of(job.options.cells, is_run))
    return invalid_input(
        fmt::format("nothing to run: of {} selected, each is refused or the same "
                    "as another (docs/matrix.md, --list)",
                    counted(std::ssize(job.options.cells), "cell")));
  job.options.num_threads = num_threads_for(options.jobs);
  job.options.shrink = !options.no_shrink;
  auto run = cell_run_options(options, backends);
  if (!run.ok()) return run.error();
  job.options.run = std::move(run).value();
  job.folder = options.folder.empty() ? default_folder(job.header, shard.value()) : options.folder;
  return job;
}

Result<CellRunOptions> cell_run_options(const MatrixJobOptions& options, const Backends& backends) {
  const auto policies = read_policies(options.policies);
  if (!policies.ok()) return policies.error();
  CellRunOptions run =
      run_options_of({.seed = options.seed, .scenarios_per_cell = options.scenarios},
                     *parse_engine_profile(options.engine), policies.value());
  run.go_on = options.go_on;
  if (!options.labels_only)
    run.make_backend = [make = backends.cpu.make](StateMemory memory) {
      return make({.memory = std::move(memory), .largest_step = {}, .device = 0});
    };
  return run;
}

Result<MatrixOptions> shrink_options_of(const MatrixHeader& header,
                                        const MatrixJobOptions& options) {
  auto program = this_program();
  if (!program.ok()) return program.error();
  MatrixHeader here = header;
  here.program = std::move(program).value();
  if (const auto difference = header_difference(header, here))
    return invalid_input(
        fmt::format("these results are of another {}: {}, not {} (their scenarios cannot be made "
                    "small here; --no-shrink leaves that out)",
                    difference->what, difference->a, difference->b));
  const auto profile = parse_engine_profile(header.engine);
  if (!profile)
    return invalid_input(fmt::format("there is no profile {}", quoted_text(header.engine)));
  const auto policies = read_policies(words_of(header.policies));
  if (!policies.ok()) return policies.error();
  MatrixOptions shrink;
  shrink.run = run_options_of(header, *profile, policies.value());
  shrink.run.go_on = options.go_on;
  shrink.num_threads = num_threads_for(options.jobs);
  return shrink;
}

}  // namespace hybridscope
