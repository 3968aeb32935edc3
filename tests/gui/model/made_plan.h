// A result file of `hybridscope plan` on small traffic, made for a test.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_jobs.h"
#include "sessions/plan/plan_run.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope::test {

struct MadePlan {
  std::string folder;  // exists; gets plan.jsonl, and traffic.jsonl beside it
  std::vector<std::string> sweeps = {"mamba_cache_mode=align,none", "max_num_seqs=2,4,8"};
  std::string step_time = {};  // empty: none
};

// The path of plan.jsonl: tiny-gdn, 24 requests of 24 to 120 tokens in conversations, 60 blocks.
std::string make_plan_file(const MadePlan& wanted);

// Four conversations that take turns; each prompt is the one before, and 24 tokens more.
inline void write_traffic(const std::string& path) {
  std::ofstream file(path);
  for (int turn = 0; turn < 6; ++turn)
    for (int conversation = 0; conversation < 4; ++conversation)
      file << fmt::format(
          R"({{"timestamp": {}, "input_length": {}, "output_length": 8, "hash_ids": [{}]}})"
          "\n",
          100 * turn, 24 * (turn + 1) + conversation, conversation);
}

inline std::string make_plan_file(const MadePlan& wanted) {
  const std::string traffic_path = wanted.folder + "/traffic.jsonl";
  write_traffic(traffic_path);
  EngineSettings base;
  base.num_gpu_blocks_override = 60;
  base.block_size = 8;
  PlanTraffic traffic(traffic_path, load_traffic(traffic_path, {}).value(), 0, 2);
  const Sweep sweep = Sweep::create(base, parse_axes(wanted.sweeps).value()).value();
  PlanSearchOptions how{.run = {.model = "tiny-gdn"}};
  PlanHeader header{.program = "test",
                    .model = "tiny-gdn",
                    .layout = layout_digest("tiny-gdn").value(),
                    .traffic = "traffic.jsonl",
                    .digest = traffic.digest(),
                    .settings = settings_to_json(base).dump(),
                    .step_time = wanted.step_time,
                    .sweeps = wanted.sweeps};
  if (!wanted.step_time.empty()) how.run.step_time = parse_step_time(wanted.step_time).value();
  std::string path = wanted.folder + "/plan.jsonl";
  PlanFile file = PlanFile::open(path, header).value();
  how.take = [&](const PlanResult& result) { return file.add(result); };
  const auto outcome = run_plan(sweep, traffic, {}, how);
  EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  return path;
}

}  // namespace hybridscope::test
