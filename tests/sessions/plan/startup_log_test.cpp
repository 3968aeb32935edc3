#include "sessions/plan/startup_log.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope::startup_log_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;

json data_file(const std::string& name) {
  std::ifstream file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/tests/data/startup_log/" + name);
  return json::parse(file);
}

EngineSettings settings_of_case(const json& values, const std::string& engine) {
  EngineSettings settings;
  EXPECT_TRUE(set_setting_text(settings, *find_setting("", "engine"), engine).ok());
  // Off by default until 0.25.1.
  settings.enable_prefix_caching = values["mamba_cache_mode"] != "none";
  for (const auto& [name, value] : values.items()) {
    const bool drafts = name == "num_speculative_tokens";
    const Setting* setting = find_setting(drafts ? "speculative_config" : "", name);
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    EXPECT_TRUE(set_setting_text(settings, *setting, text).ok()) << name;
  }
  return settings;
}

// What vLLM's own functions logged (tests/data/README.md).
TEST(StartUpLog, IsThatOfTheInstalledPackages) {
  const json cases = data_file("cases.json");
  for (const Release release : {Release::v0_24_0, Release::v0_33_0}) {
    const std::string engine = "vllm-" + std::string(release_name(release));
    const json answers = data_file(engine + ".json");
    ASSERT_EQ(answers["cases"].size(), cases.size());
    ASSERT_EQ(cases.size(), 11U);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto model =
          parse_hf_config({.text = cases[i]["config"].dump(), .file = "config.json"});
      const auto setup =
          make_engine_setup(model.value(), settings_of_case(cases[i]["settings"], engine));
      ASSERT_TRUE(setup.ok()) << setup.error().message;
      EXPECT_EQ(json(start_up_log(setup.value(), release)), answers["cases"][i]["lines"])
          << engine << ": " << cases[i]["name"];
    }
  }
}

TEST(StartUpLog, AModelWithoutAttentionSetsAndPadsNothing) {
  EngineSettings settings;
  settings.num_gpu_blocks_override = 100;
  settings.mamba_cache_mode = MambaCacheMode::none;
  settings.max_model_len = 1000;
  EXPECT_THAT(start_up_log(make_engine_setup("mamba2-2.7b", settings).value(), Release::v0_24_0),
              ElementsAre("GPU KV cache size: 100,000 tokens",
                          "Maximum concurrency for 1,000 tokens per request: 100.00x"));
}

}  // namespace
}  // namespace hybridscope::startup_log_test
