#include "sessions/startup/known_models.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/sessions/startup/startup_cases.h"

namespace hybridscope::test::known_models_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNull;
using testing::Not;
using testing::NotNull;

std::string first_name(std::string_view name) {
  const KnownModel* model = find_known_model(name);
  return model == nullptr ? "" : model->names.front();
}

TEST(KnownModels, AreAtLeastSixtyShapesEachWithItsSource) {
  EXPECT_GE(known_models().size(), 60u);
  for (const KnownModel& model : known_models()) {
    EXPECT_THAT(model.source, Not(IsEmpty())) << model.names.front();
    EXPECT_EQ(model.date.size(), 10u) << model.names.front();
  }
}

TEST(KnownModels, NoNameStandsForTwoShapes) {
  std::set<std::string> names;
  for (const KnownModel& model : known_models())
    for (const std::string& name : model.names) {
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(find_known_model(name), &model) << name;
    }
}

TEST(KnownModels, EachIsReadUnlessNoReleaseHasIt) {
  for (const KnownModel& model : known_models()) {
    bool read = false;
    for (const std::string_view release : release_names()) {
      const auto found = read_startup_model({model.config, model.names.front()}, {},
                                            settings_of(*parse_release(release), "h100"));
      if (!found.ok() && found.error().message.find("is not modelled") == std::string::npos) {
        EXPECT_EQ(found.error().kind, ErrorKind::not_available) << found.error().message;
      }
      read = read || found.ok();
    }
    const bool gone = model.config.find("Bamba") != std::string::npos ||
                      model.config.find("MiniMax") != std::string::npos;
    EXPECT_NE(read, gone) << model.names.front();
  }
}

TEST(KnownModels, AreFoundInNamesOfFoldersAndDerivedModels) {
  const auto named_in = [](std::string_view name) {
    const KnownModel* model = find_model_named_in(name);
    return model == nullptr ? std::string() : model->names.front();
  };
  EXPECT_EQ(named_in("/models/Qwen3.6-27B-AutoRound-W4A16"), "Qwen/Qwen3.6-27B");
  EXPECT_EQ(named_in("/hub/models--Qwen--Qwen3.5-9B/snapshots/0123abc"), "Qwen/Qwen3.5-9B");
  EXPECT_EQ(named_in("who/Tuned-Qwen3.5-27B-abliterated"), "Qwen/Qwen3.5-27B");
  EXPECT_EQ(named_in("~/.cache/qwen3.6-35b-a3b-nvfp4"), "Qwen/Qwen3.6-35B-A3B");
  EXPECT_EQ(named_in("moonshotai/Kimi-K3-7B"), "");
  EXPECT_EQ(named_in("Qwen/Qwen3-30B-A3B-Coder"), "");
  EXPECT_EQ(named_in(""), "");
}

TEST(KnownModels, AreFoundByShortNamesAndThoseOfQuantisedSiblings) {
  const std::string qwen = first_name("Qwen/Qwen3.8-27B");
  EXPECT_THAT(qwen, HasSubstr("27B"));
  for (const char* name : {"qwen3.8-27b", "QWEN3.8-27B", "nvidia/Qwen3.8-27B-NVFP4",
                           "Qwen/Qwen3.8-27B-FP8", "someone/Qwen3.8-27B-AWQ-4bit"})
    EXPECT_EQ(first_name(name), qwen) << name;
  EXPECT_THAT(first_name("qwen3-next-80b-a3b"), HasSubstr("Qwen3-Next-80B-A3B"));
  EXPECT_THAT(find_known_model("qwen"), IsNull());
  EXPECT_THAT(find_known_model(""), IsNull());
}

TEST(KnownModels, OneThatIsNotKnownHasANearName) {
  EXPECT_THAT(nearest_model_hint("Qwen/Qwen3.8-26B"), HasSubstr("Qwen/Qwen3.8-27B"));
  EXPECT_EQ(nearest_model_hint("gpt-2"), "");
}

// Qwen3.5-27B: 16 attention layers of 4 heads of 256, and 48 of states.
TEST(KnownModels, HaveTheShapesOfTheirFiles) {
  ASSERT_THAT(find_known_model("Qwen/Qwen3.5-27B"), NotNull());
  const auto config = nlohmann::json::parse(find_known_model("Qwen/Qwen3.5-27B")->config);
  EXPECT_EQ(config["text_config"]["num_hidden_layers"], 64);
  EXPECT_EQ(config["text_config"]["num_key_value_heads"], 4);
  EXPECT_EQ(config["text_config"]["linear_num_value_heads"], 48);
}

}  // namespace
}  // namespace hybridscope::test::known_models_test
