// What was recorded is what is read, field by field, at each level.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sessions/record/step_recorder.h"
#include "storage/record_jsonl.h"
#include "storage/session_reader.h"
#include "storage/session_writer.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/property.h"
#include "tests/support/small_language_model.h"

namespace hybridscope::test::session_round_trip_test {
namespace {

using RecordLines = std::vector<std::vector<std::string>>;  // [steps]

// More than any scenario has; a drawn run under reference may never end.
constexpr std::int64_t kMostSteps = 300;

// Records the plan; the lines of each record as it was handed over.
RecordLines record(const RunPlan& plan, const SessionPlace& place, RecordLevel level) {
  RecordLines recorded;
  const Status status = record_run(plan, {.place = place,
                                          .level = level,
                                          .max_steps = kMostSteps,
                                          .watch = [&](const StepRecord& step, const auto&) {
                                            recorded.push_back(lines_of(step));
                                          }});
  EXPECT_TRUE(status.ok()) << status.error().message;
  return recorded;
}

RecordLines read_all(const SessionPlace& place) {
  RecordLines lines;
  auto source = open_session_source(place);
  EXPECT_TRUE(source.ok()) << source.error().message;
  while (source.ok()) {
    const auto stamp = source.value()->next();
    EXPECT_TRUE(stamp.ok()) << stamp.error().message;
    if (!stamp.ok() || stamp.value() == nullptr) break;
    const auto read = source.value()->record();
    EXPECT_TRUE(read.ok()) << read.error().message;
    if (!read.ok()) break;
    EXPECT_EQ(read.value()->trace.step, stamp.value()->step);
    EXPECT_EQ(read.value()->digests, stamp.value()->digests);
    EXPECT_EQ(read.value()->counts, stamp.value()->counts);
    lines.push_back(lines_of(*read.value()));
  }
  return lines;
}

std::string first_difference(const RecordLines& recorded, const RecordLines& read) {
  for (std::size_t step = 0; step < std::min(recorded.size(), read.size()); ++step)
    for (std::size_t i = 0; i < std::max(recorded[step].size(), read[step].size()); ++i) {
      const std::string left = i < recorded[step].size() ? recorded[step][i] : "nothing";
      const std::string right = i < read[step].size() ? read[step][i] : "nothing";
      if (left != right) return recorded[step][0] + ": recorded " + left + ", read " + right;
    }
  if (recorded.size() != read.size())
    return std::to_string(recorded.size()) + " steps recorded, read " + std::to_string(read.size());
  return "";
}

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, EachLevelGivesBackWhatItKeeps) {
  const TemporaryFolder folder;
  const RunPlan plan = shipped_scenario(GetParam());
  for (const RecordLevel level : {RecordLevel::full, RecordLevel::blocks, RecordLevel::counts}) {
    const SessionPlace place{.file = folder / "runs.db",
                             .name = std::string(record_level_name(level))};
    const RecordLines recorded = record(plan, place, level);
    EXPECT_FALSE(recorded.empty());
    EXPECT_EQ(first_difference(recorded, read_all(place)), "") << place.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, RoundTrip, testing::ValuesIn(shipped_scenario_names()),
                         [](const auto& scenario) { return scenario.param; });

TEST(RoundTripProperty, DrawnRunsComeBackAsTheyWereRecorded) {
  check_property(12, [] {
    const TemporaryFolder folder;
    const SessionPlace place{.file = folder / "runs.db", .name = "drawn"};
    const RecordLines recorded = record(drawn_run(), place, RecordLevel::full);
    RC_ASSERT(first_difference(recorded, read_all(place)) == "");
  });
}

// Sessions of runs with a language model: what it said and held is read back, from the file and
// from JSON Lines.

// The scenario with a model of 50 tokens, recorded step by step.
class SpokenSession : public testing::TestWithParam<RecordLevel> {
 protected:
  void SetUp() override {
    const RunPlan plan = shipped_scenario("trimmed_draft_lists");
    const auto model = std::make_shared<const HybridModel>(small_language_model());
    CheckedRunOptions options;
    options.language.model = model;
    options.keeps_speech = true;
    auto source = LiveSource::create(plan, GetParam(), "live", std::move(options)).value();
    header_ = header_of(plan, GetParam());
    header_.language = make_speech_info(*model, plan.setup.config.kv_cache_config, "models/tiny/",
                                        NumericForm::recurrent)
                           .value();
    const auto name = [&](RequestId request) { return source->request_name(request); };
    auto writer = SessionWriter::begin(place_, header_, {.program = "test", .request_name = name});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    RecordJsonlWriter lines(name);
    lines_.push_back(lines.header(header_));
    while (source->next().value() != nullptr) {
      const StepRecord& record = *source->record().value();
      said_.push_back(record.speech);
      lines_.push_back(lines.step(record));
      writer.value()->next_record() = record;
      ASSERT_TRUE(writer.value()->push().ok());
    }
    ASSERT_TRUE(writer.value()->finish(SessionStatus::complete, "").ok());
  }

  TemporaryFolder folder_;
  SessionPlace place_{.file = folder_ / "spoken.db", .name = "spoken"};
  SessionHeader header_;
  std::vector<StepSpeech> said_;
  std::vector<std::string> lines_;
};

TEST_P(SpokenSession, IsReadBackEqual) {
  auto reader = SessionReader::open(place_).value();
  EXPECT_EQ(reader->info().header.language, header_.language);
  EXPECT_EQ(reader->speech().value(), said_);
  EXPECT_EQ(reader->speech(2, 1).value(), (std::vector<StepSpeech>{said_[2]}));
  EXPECT_EQ(reader->read(3).value()->speech, said_[2]);
}

TEST_P(SpokenSession, HasTheTextsAsFarAsTheSchedulerTookThem) {
  auto reader = SessionReader::open(place_).value();
  const auto words = spoken_session(*reader, numbered_names()).value();
  ASSERT_TRUE(words.has_value());
  EXPECT_EQ(words->vocab_size, 50);
  ASSERT_EQ(words->texts.size(), 2U);
  for (const SpokenText& text : words->texts) EXPECT_TRUE(text.alone.empty());
  EXPECT_FALSE(words->texts[0].rejected.empty());
}

TEST_P(SpokenSession, IsReadBackFromJsonLines) {
  RecordJsonlReader reader("in.jsonl");
  EXPECT_EQ(reader.read_header(lines_[0], 1).value().language, header_.language);
  StepRecord record;
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    const auto read = reader.read_step(lines_[i], static_cast<std::int64_t>(i + 1), record);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(record.speech, said_[i - 1]);
  }
}

TEST_P(SpokenSession, ViewsHaveTokensByName) {
  EXPECT_EQ(query_number(place_.file, "SELECT count(*) FROM v_state_differences"), 0);
  const SpokenToken& first = said_[0].words.tokens.at(0).token;
  EXPECT_EQ(query(place_.file,
                  "SELECT request_name || ' ' || position || ' ' || token || ' ' || lone_run "
                  "FROM v_tokens WHERE step = 1 LIMIT 1"),
            (std::vector<std::string>{"A " + std::to_string(first.position) + " " +
                                      std::to_string(first.id) + " " + std::to_string(first.id)}));
}

TEST_P(SpokenSession, DamageIsNamed) {
  execute(place_.file, "UPDATE speech SET words = '{\"taken\": [[9, 1]]}' WHERE step = 2");
  auto reader = SessionReader::open(place_).value();
  EXPECT_THAT(reader->read(2).error().message,
              testing::HasSubstr("speech.words: speech/taken: 9, expected a number from 0 to 1"));
  EXPECT_FALSE(reader->speech().ok());
}

INSTANTIATE_TEST_SUITE_P(Levels, SpokenSession,
                         testing::Values(RecordLevel::counts, RecordLevel::full),
                         [](const auto& level) {
                           return std::string(record_level_name(level.param));
                         });

TEST(SpokenSessionOfNoModel, HasNoTexts) {
  const TemporaryFolder folder;
  const SessionPlace place{.file = folder / "silent.db", .name = "silent"};
  ASSERT_TRUE(record_run(shipped_scenario("plain_decode"), {.place = place}).ok());
  auto reader = SessionReader::open(place).value();
  EXPECT_FALSE(reader->info().header.language.has_value());
  EXPECT_FALSE(spoken_session(*reader, numbered_names()).value().has_value());
}

}  // namespace
}  // namespace hybridscope::test::session_round_trip_test
