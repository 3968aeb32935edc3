// Vectors of the cache, the scheduler and the whole chain that contradict themselves.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "sessions/text/json_value.h"
#include "tests/sessions/conformance/golden_vector_files.h"
#include "tests/support/golden.h"
#include "tests/support/property.h"

namespace hybridscope::invalid_vectors_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json recompute(const std::string& kind, const json& vector) {
  const VectorKind& row = *recognise_by_name(kind);
  return row.recompute(open_vector(row, vector), {.execute_copies = &execute_copies});
}

void expect_invalid(const std::string& kind, const json& vector, const std::string& pointer,
                    const std::string& message) {
  try {
    recompute(kind, vector);
    ADD_FAILURE() << "accepted, expected an error at " << pointer;
  } catch (const JsonFault& error) {
    EXPECT_EQ(error.pointer(), pointer);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

// Index of the first call of this name that has rows or requests to speak of.
std::size_t call_of(const json& vector, const std::string& op) {
  const json& calls = vector.at("calls");
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].at("op") == op && (op != "worker_step" || !calls[i].at("req_ids").empty()))
      return i;
  throw std::runtime_error("no such call");
}

class InvalidPipelineVector : public testing::Test {
 protected:
  void SetUp() override {
    vector = test::first_case("pipeline");
    index = call_of(vector, "worker_step");
    request = vector["calls"][index]["req_ids"][0];
  }

  json& call() { return vector["calls"][index]; }
  void expect_invalid_at(const std::string& member, const std::string& message) {
    expect_invalid("pipeline", vector, "/calls/" + std::to_string(index) + member, message);
  }

  json vector;
  std::size_t index = 0;
  std::string request;
};

TEST_F(InvalidPipelineVector, RowsAreThoseTheScheduleLeadsTo) {
  call()["req_ids"][0] = "nobody";
  expect_invalid_at("/req_ids", request);
}

TEST_F(InvalidPipelineVector, ComputedTokensAreThoseTheSchedulerReported) {
  call()["num_computed_tokens"][request] = 1;
  expect_invalid_at("/num_computed_tokens/" + request, "reported 0");
}

TEST_F(InvalidPipelineVector, BlocksAreThoseTheSchedulerReported) {
  call()["block_ids"][request][1][0] = 999999;
  expect_invalid_at("/block_ids/" + request + "/1", "reported");
}

TEST_F(InvalidPipelineVector, AnAddedRowsAcceptedCountIsOne) {
  call()["num_accepted_tokens_cpu"][0] = 2;
  expect_invalid_at("/num_accepted_tokens_cpu/0", "lead to 1");
}

TEST_F(InvalidPipelineVector, EveryStepRunsOnTheWorker) {
  vector["calls"].erase(index);
  expect_invalid_at("/op", "expected a worker_step");
}

TEST_F(InvalidPipelineVector, TheWorkerStepsOnceAStep) {
  const json again = call();
  vector["calls"].insert(vector["calls"].begin() + static_cast<std::ptrdiff_t>(index), again);
  ++index;
  expect_invalid_at("/op", "no step was scheduled");
}

TEST(InvalidSchedulerVector, AnUnknownOpIsNamed) {
  json vector = test::first_case("scheduler");
  vector["calls"][0]["op"] = "sleep";
  expect_invalid("scheduler", vector, "/calls/0/op", "update_from_output");
}

TEST(InvalidSchedulerVector, OutputOfARequestThatWasNotScheduledIsNamed) {
  json vector = test::first_case("scheduler");
  const std::size_t index = call_of(vector, "update_from_output");
  vector["calls"][index]["sampled_token_ids"]["nobody"] = {1};
  expect_invalid("scheduler", vector, "/calls/" + std::to_string(index) + "/sampled_token_ids",
                 "\"nobody\" was not scheduled");
}

TEST(InvalidCacheVector, ARequestNobodyAddedIsNamed) {
  json vector = test::first_case("kv_cache_manager");
  vector["calls"] = {{{"op", "free"}, {"request", {{"id", "nobody"}}}}};
  expect_invalid("kv_cache_manager", vector, "/calls/0/request/id", "no such request");
}

TEST(InvalidCacheVector, TokenCountsAreThoseOfTheTokensGiven) {
  json vector = test::first_case("kv_cache_manager");
  const std::size_t index = call_of(vector, "get_computed_blocks");
  vector["calls"][index]["request"]["num_tokens"] = 1000;
  expect_invalid("kv_cache_manager", vector,
                 "/calls/" + std::to_string(index) + "/request/num_tokens", "as many as");
}

TEST(CacheVector, NoNewTokensAreAnErrorAsInTheReference) {
  json vector = test::first_case("kv_cache_manager");
  const std::size_t index = call_of(vector, "allocate_slots");
  vector["calls"][index]["num_new_tokens"] = 0;
  const json answer = recompute("kv_cache_manager", vector);
  ASSERT_EQ(answer["results"].size(), index + 1);
  EXPECT_TRUE(answer["results"][index].contains("error"));
}

json vector_with_cached_blocks() {
  json vector;
  test::for_each_case("cache_hits", [&](const json& candidate) {
    if (vector.is_null() && candidate.at("input").contains("cached") &&
        !candidate["input"]["cached"].empty())
      vector = candidate;
  });
  return vector;
}

TEST(InvalidCacheHitsVector, ABlockOutsideThePoolIsNamed) {
  json vector = vector_with_cached_blocks();
  vector["input"]["cached"][0][2] = vector["config"]["num_blocks"];
  expect_invalid("cache_hits", vector, "/input/cached/0/2", "expected an integer");
}

TEST(InvalidCacheHitsVector, ABlockIsCachedOnce) {
  json vector = vector_with_cached_blocks();
  json& cached = vector["input"]["cached"];
  cached = {cached[0], cached[0]};
  expect_invalid("cache_hits", vector, "/input/cached/1/2", "cached already");
}

TEST(InvalidSchedulerVector, MoreBlocksThanAnyFileListsAreRefused) {
  json vector = test::first_case("scheduler");
  vector["config"]["num_blocks"] = 1 << 20;
  vector["calls"] = std::vector<json>(17, {{"op", "schedule"}});
  expect_invalid("scheduler", vector, "/config/num_blocks", "too many");
}

// Checking any vector ends with an answer or a JsonFault.

using testing::Not;

constexpr std::size_t kVectorsAFile = 6;
constexpr int kChangesAVector = 8;
constexpr std::uint32_t kSeed = 20251;

// Values that no generator of vectors would write in these places.
json hostile_value(std::mt19937& random) {
  const std::vector<json> values = {nullptr,
                                    0,
                                    -1,
                                    1,
                                    2147483647,
                                    1 << 28,
                                    1 << 20,
                                    -2147483648LL,
                                    1099511627776LL,
                                    1e300,
                                    true,
                                    "x",
                                    json::array(),
                                    json::object(),
                                    json::array({json::array()})};
  return values[random() % values.size()];
}

void collect_pointers(const json& value, const std::string& pointer,
                      std::vector<std::string>& pointers) {
  pointers.push_back(pointer);
  if (value.is_object())
    for (const auto& [key, member] : value.items())
      collect_pointers(member, child_pointer(pointer, key), pointers);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      collect_pointers(value[i], child_pointer(pointer, i), pointers);
}

// Replaces, removes or repeats one value of what the vector asks.
std::string change_one_place(json& vector, std::mt19937& random) {
  const std::string part = random() % 4 == 0          ? "config"
                           : vector.contains("input") ? "input"
                           : vector.contains("flags") ? "flags"
                                                      : "calls";
  std::vector<std::string> pointers;
  collect_pointers(vector.at(part), "/" + part, pointers);
  const json::json_pointer pointer(pointers[random() % pointers.size()]);
  json& place = vector.at(pointer);
  json& parent = vector.at(pointer.parent_pointer());
  switch (random() % 4) {
    case 0:
      if (parent.is_array())
        parent.push_back(json(place));
      else
        parent.erase(pointer.back());
      break;
    case 1:
      if (parent.is_array()) {
        parent.erase(parent.size() - 1);
        break;
      }
      [[fallthrough]];
    default: place = hostile_value(random);
  }
  return pointer.to_string();
}

class HostileVectors : public testing::TestWithParam<test::GoldenVectorFile> {};

TEST_P(HostileVectors, EndWithAnAnswerOrAJsonFault) {
  const VectorKind& kind = *GetParam().kind;
  std::vector<std::string> vectors;
  test::for_each_line(GetParam().name, [&](const std::string& line) { vectors.push_back(line); });
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  std::shuffle(vectors.begin(), vectors.end(), random);
  vectors.resize(std::min(vectors.size(), test::num_cases(kVectorsAFile)));
  for (const std::string& line : vectors) {
    const json vector = json::parse(line);
    for (int change = 0; change < kChangesAVector; ++change) {
      json changed = vector;
      SCOPED_TRACE(vector.value("id", GetParam().name) + " " + change_one_place(changed, random));
      try {
        const auto difference =
            check_vector(kind, changed, {.execute_copies = &execute_copies}, GetParam().place());
        EXPECT_THAT(difference ? difference->got : "", Not(HasSubstr("internal error")));
      } catch (const JsonFault& error) {
        EXPECT_FALSE(std::string(error.what()).empty());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileVectors, testing::ValuesIn(test::golden_vector_files()),
                         [](const auto& file) { return file.param.test_name(); });

}  // namespace

}  // namespace hybridscope::invalid_vectors_test
