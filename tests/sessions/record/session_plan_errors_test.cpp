// Errors in a plan are reported with file and place; nothing is thrown.
#include <gmock/gmock.h>

#include "core/base/fingerprint.h"
#include "sessions/record/session_header.h"
#include "sessions/record/session_plan.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::session_plan_errors_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string good_plan() {
  return write_session_plan(test::plan_of_text(
      R"({"version": 1, "name": "n", "model": "tiny-mamba2",
          "settings": {"block_size": 8, "num_gpu_blocks_override": 16, "max_model_len": 64,
                       "speculative_config": {"num_speculative_tokens": 2}},
          "requests": [{"id": "A", "prompt": 11, "max_tokens": 3},
                       {"id": "B", "prompt": {"tokens": 9, "share": "A"}, "at_step": 2}],
          "script": [{"step": 2, "accept": {"A": 2}}], "expect": {"finished": 2}})"));
}

// What reading says after the first `from` of the good plan became `to`.
std::string error_after(const std::string& from, const std::string& to) {
  std::string text = good_plan();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  text.replace(at, from.size(), to);
  const auto plan = read_session_plan(text, "run.db");
  return plan.ok() ? "no error" : plan.error().message;
}

TEST(SessionPlanErrors, TheGoodPlanIsRead) {
  EXPECT_EQ(error_after("\"name\":\"n\"", "\"name\":\"m\""), "no error");
}

TEST(SessionPlanErrors, AnotherVersionIsRefusedBeforeAnythingElse) {
  EXPECT_EQ(error_after("{\"version\":1,\n\"name\"", "{\"version\":2,\n\"nom\""),
            "run.db: /version: version is 2 (this program reads version 1)");
  EXPECT_EQ(read_session_plan("[1]", "run.db").error().message,
            "run.db: expected an object, found an array of 1");
}

TEST(SessionPlanErrors, TextThatIsNoJsonIsCorrupt) {
  const auto plan = read_session_plan("{\"version\":", "run.db");
  EXPECT_EQ(plan.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(plan.error().message, StartsWith("run.db: no plan of a run: "));
}

TEST(SessionPlanErrors, EachPartNamesItsPlace) {
  EXPECT_EQ(error_after("\"teaches\"", "\"teach\""),
            "run.db: /teach: unknown key \"teach\", did you mean \"teaches\"?");
  EXPECT_EQ(error_after("\"teaches\":\"\",\n", ""), "run.db: key \"teaches\" is missing");
  EXPECT_EQ(error_after("\"teaches\":\"\"", "\"name\":\"\""),
            "run.db: /name: this key occurs twice");
  EXPECT_THAT(error_after("\"block_size\":8", "\"block_size\":0"),
              StartsWith("run.db: /settings/block_size: block_size is 0 (allowed: "));
  EXPECT_THAT(error_after("\"max_model_len\":64", "\"max_model_len\":8"),
              StartsWith("run.db: /requests/0: "));
  EXPECT_THAT(error_after("\"num_gpu_blocks_override\":16", "\"num_gpu_blocks_override\":2"),
              StartsWith("run.db: /requests/0: "));
  EXPECT_THAT(error_after("\"accept\":{\"A\":2}", "\"accept\":{\"A\":4}"),
              StartsWith("run.db: /script/0/accept/A: 4 accepted tokens"));
  EXPECT_EQ(error_after("\"accept\":{\"A\":2}", "\"accept\":{\"X\":2}"),
            "run.db: /script/0/accept/X: no request is called \"X\"");
  EXPECT_EQ(error_after("\"finished\":2", "\"finished\":3"),
            "run.db: /expect/finished: 3 finished requests of 2");
  EXPECT_EQ(error_after("\"notes\":[", "\"notes\":[1"),
            "run.db: /notes/0: expected a string, found 1");
}

TEST(SessionPlanErrors, TheModelNamesItsPlace) {
  EXPECT_EQ(error_after("\"type\":\"mamba2\"", "\"type\":\"mamba9\""),
            "run.db: /model/recurrent/type: expected mamba1, mamba2, linear_attention, short_conv, "
            "gdn_attention or kda, found \"mamba9\"");
  EXPECT_EQ(error_after("\"n_groups\"", "\"m_groups\""),
            "run.db: /model/recurrent/m_groups: unknown key \"m_groups\", did you mean "
            "\"n_groups\"?");
  EXPECT_THAT(error_after("\"n_groups\":1", "\"n_groups\":0"),
              StartsWith("run.db: /settings: model tiny-mamba2: n_groups is 0, expected 1"));
  EXPECT_THAT(error_after("\"layers\":\"", "\"layers\":\"X"),
              StartsWith("run.db: /model/layers: layer pattern: letter 0 is 'X'"));
}

TEST(SessionPlanErrors, RequestsNameTheirPlace) {
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":0"),
            "run.db: /requests/0/max_tokens: expected an integer from 1 to 16777216, found 0");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"key\":3"),
            "run.db: /requests/0: key \"max_tokens\" is missing");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"max_tokens\":3"),
            "run.db: /requests/0/max_tokens: this key occurs twice");
  EXPECT_EQ(error_after("0,11]", "0]"),
            "run.db: /requests/0/prompt: expected four numbers for each segment, found an array of "
            "3");
  EXPECT_EQ(error_after("0,11]", "0,0]"),
            "run.db: /requests/0/prompt/3: expected an integer from 1 to 16777216, found 0");
  EXPECT_EQ(error_after("\"prompt\":[0,", "\"prompt\":[2,"),
            "run.db: /requests/0/prompt/0: expected an integer from 0 to 1, found 2");
  EXPECT_EQ(error_after("\"id\":\"B\"", "\"id\":\"A\""),
            "run.db: /requests/1/id: request \"A\" is there twice");
  EXPECT_THAT(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"at_step\":3"),
              HasSubstr("/requests/1: joins before the request in front of it"));
}

TEST(SessionPlanErrors, ARequestWaitsForOneThatIsThereAndEnds) {
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"after\":[\"C\"]"),
            "run.db: /requests/0/after: there is no request \"C\"");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"after\":[\"A\"]"),
            "run.db: /requests/0/after: request \"A\" waits for itself, or for one that does");
  EXPECT_EQ(error_after("\"max_tokens\":3", "\"max_tokens\":3,\"after\":\"A\""),
            "run.db: /requests/0/after: expected an array, found \"A\"");
  EXPECT_EQ(
      error_after("\"max_tokens\":3", "\"max_tokens\":3,\"delay_us\":-1"),
      "run.db: /requests/0/delay_us: expected an integer from 0 to 4503599627370496, found -1");
}

// As in scenario_mutation_test: bytes replaced, removed, doubled, put in.
TEST(SessionPlanErrors, ADamagedPlanIsReadOrRefusedInOneLine) {
  const std::string plan = good_plan();
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::uint64_t state = mix(0x706C616EULL, seed);
    const auto draw = [&](std::uint64_t below) { return (state = mix(state, below)) % below; };
    const std::string_view inserts = "{}[]\",:-0123456789eE.\\ntf \x80\xFF";
    std::string text = plan;
    for (std::uint64_t i = 0; i < 1 + seed % 3; ++i) {
      const auto at = static_cast<std::size_t>(draw(text.size()));
      const auto what = draw(4);
      if (what == 0) text[at] = static_cast<char>(text[at] ^ (1 << draw(8)));
      if (what == 1) text.erase(at, 1 + draw(8));
      if (what == 2) text.insert(at, text.substr(at, 1 + draw(16)));
      if (what == 3) text.insert(at, 1, inserts[draw(inserts.size())]);
    }
    const auto read = read_session_plan(text, "run.db");
    if (!read.ok()) {
      ASSERT_THAT(read.error().message, StartsWith("run.db: ")) << "seed " << seed;
      ASSERT_EQ(read.error().message.find('\n'), std::string::npos) << "seed " << seed;
      continue;
    }
    ++accepted;
    const std::string again = write_session_plan(read.value());
    const auto back = read_session_plan(again, "run.db");
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(write_session_plan(back.value()), again) << "seed " << seed;
  }
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 2500);
}

TEST(SessionHeader, EnumsHaveNamesAndALevelIsReadByItsName) {
  EXPECT_EQ(session_kind_name(SessionKind::judge), "judge");
  EXPECT_EQ(session_status_name(SessionStatus::failed), "failed");
  EXPECT_EQ(record_level_name(RecordLevel::full), "full");
  for (const RecordLevel level : {RecordLevel::counts, RecordLevel::blocks, RecordLevel::full})
    EXPECT_EQ(record_level_of(record_level_name(level)), level);
  EXPECT_EQ(record_level_of("everything"), std::nullopt);
}

}  // namespace
}  // namespace hybridscope::session_plan_errors_test
