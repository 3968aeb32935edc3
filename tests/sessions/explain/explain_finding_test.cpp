#include "sessions/explain/explain_finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::explain_finding_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Names letters(MambaCacheMode mode = MambaCacheMode::align) {
  return {
      .request = [](RequestId request) { return std::string(1, char('A' + request.value)); },
      .group = [](std::int32_t group) { return "group " + std::to_string(group) + " (mamba2)"; },
      .mamba_cache_mode = mode};
}

Finding state_finding() {
  return {.rule = Rule::running_state_wrong,
          .step = 13,
          .request = {0},
          .row = 2,
          .group = 1,
          .content = ContentKind::temporal,
          .column = 2,
          .block = 17,
          .expected = 48,
          .seen = 46,
          .cause = {.kind = WriteKind::post_copy,
                    .step = 12,
                    .ordinal = 3,
                    .request = {0},
                    .num_tokens = 46}};
}

TEST(ExplainFinding, SaysWhatABlockHoldsAndWhoWroteIt) {
  EXPECT_EQ(explain_finding(state_finding(), letters()),
            "running-state-wrong: step 13 A row 2 group 1 (mamba2) column 2: block 17 holds the "
            "state of 46 tokens of A, expected 48; written by the post-copy of step 12 (vLLM "
            "v1/worker/mamba_utils.py postprocess_mamba_fused_kernel)");
}

TEST(ExplainFinding, InModeAllAPostCopyIsOurOwn) {
  EXPECT_THAT(explain_finding(state_finding(), letters(MambaCacheMode::all)),
              HasSubstr("(docs/differences.md all_mode_speculation)"));
}

TEST(ExplainFinding, TheSameCountCanBeAnotherPrefix) {
  Finding finding = state_finding();
  finding.seen = 48;
  finding.cause.request = {1};
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("block 17 holds the state of 48 tokens of B, as many as expected but not "
                        "the same ones"));
}

TEST(ExplainFinding, AConvWindowIsNamedByItsLastToken) {
  Finding finding = state_finding();
  finding.content = ContentKind::conv;
  finding.detail = "conv history";
  EXPECT_THAT(
      explain_finding(finding, letters()),
      HasSubstr("the conv window read from block 17 ends with token 46 of A, expected 48;"));
  finding.seen = 48;
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("the conv window read from block 17 ends with token 48 of A, but does not "
                        "hold the tokens before it;"));
}

TEST(ExplainFinding, ALabelPromisesAPrefix) {
  EXPECT_EQ(explain_finding(
                {.rule = Rule::label_mismatch,
                 .step = 3,
                 .request = {0},
                 .group = 1,
                 .content = ContentKind::temporal,
                 .block = 4,
                 .expected = 8,
                 .seen = 3,
                 .cause = {.kind = WriteKind::prefill, .step = 1, .request = {0}, .num_tokens = 3}},
                letters()),
            "label-mismatch: step 3 A group 1 (mamba2): block 4 is registered as the end of a "
            "prefix of 8 tokens, but holds 3 tokens of A; written by the prefill of step 1 (vLLM "
            "v1/attention/backends/mamba_attn.py and gdn_attn.py build)");
}

TEST(ExplainFinding, AReadThroughTheNullBlock) {
  EXPECT_THAT(explain_finding({.rule = Rule::read_of_unwritten_block,
                               .step = 2,
                               .request = {1},
                               .row = 0,
                               .group = 1,
                               .content = ContentKind::temporal,
                               .block = 0,
                               .expected = 7,
                               .detail = "read through the null block",
                               .cause = {}},
                              letters()),
              HasSubstr("step 2 B row 0 group 1 (mamba2): read through the null block; expected "
                        "the state of 7 tokens"));
}

TEST(ExplainFinding, ACountOfAnotherRequestIsComparedWithItsOwn) {
  const Finding finding = {.rule = Rule::foreign_row_datum,
                           .step = 4,
                           .request = {2},
                           .row = 0,
                           .expected = 3,
                           .seen = 1,
                           .detail = "accepted count of another request",
                           .cause = {}};
  EXPECT_EQ(explain_finding(finding, letters()),
            "foreign-row-datum: step 4 C row 0: the accepted count is 1, the request's is 3 (vLLM "
            "v1/worker/gpu_input_batch.py condense and swap_states)");
  EXPECT_EQ(finding_to_json(finding, letters())["expected"], 3);
  EXPECT_EQ(finding_to_json(finding, letters())["seen"], 1);
}

TEST(ExplainFinding, ASlotOfAnotherRequest) {
  EXPECT_EQ(explain_finding({.rule = Rule::foreign_row_datum,
                             .step = 4,
                             .request = {2},
                             .row = 0,
                             .expected = 2,
                             .seen = 1,
                             .detail = "slot of another request",
                             .cause = {}},
                            letters()),
            "foreign-row-datum: step 4 C row 0: the row's slot is that of B (vLLM "
            "v1/worker/gpu/states.py add_request and remove_request)");
}

// Sessions of earlier versions have such findings, whose numbers are requests.
TEST(ExplainFinding, ACountTakenFromAnotherRequest) {
  EXPECT_EQ(explain_finding({.rule = Rule::foreign_row_datum,
                             .step = 4,
                             .request = {2},
                             .row = 0,
                             .expected = 2,
                             .seen = 1,
                             .detail = "accepted count taken from another request",
                             .cause = {}},
                            letters()),
            "foreign-row-datum: step 4 C row 0: the accepted count was taken from B (vLLM "
            "v1/worker/gpu_input_batch.py condense and swap_states)");
}

// Groups 1 to 3 have the state and the conv window of 46 tokens of A, expected 48.
std::vector<Finding> three_groups() {
  std::vector<Finding> findings;
  for (const std::int32_t group : {1, 2, 3})
    for (const ContentKind content : {ContentKind::temporal, ContentKind::conv})
      findings.push_back({.rule = Rule::running_state_wrong,
                          .step = 13,
                          .request = {0},
                          .row = 2,
                          .group = group,
                          .content = content,
                          .column = 2,
                          .block = 14 + 3 * group,
                          .expected = 48,
                          .seen = 46,
                          .detail = content == ContentKind::conv ? "conv history" : "",
                          .cause = {.kind = WriteKind::post_copy,
                                    .step = 12,
                                    .ordinal = group,
                                    .request = {0},
                                    .num_tokens = 46}});
  return findings;
}

std::vector<FindingLine> lines_of(const std::vector<Finding>& findings) {
  std::vector<const Finding*> places;
  for (const Finding& finding : findings) places.push_back(&finding);
  return lines_of_findings(places);
}

std::string words_of(const std::vector<Finding>& findings, const FindingLine& line) {
  std::vector<const Finding*> places;
  for (const std::size_t index : line) places.push_back(&findings[index]);
  return explain_findings(places, letters());
}

TEST(ExplainFinding, GroupsAndKindsOfStateThatAreEquallyWrongAreOneLine) {
  const std::vector<Finding> findings = three_groups();
  const std::vector<FindingLine> lines = lines_of(findings);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], (FindingLine{0, 2, 4, 1, 3, 5}));
  EXPECT_THAT(words_of(findings, lines[0]),
              HasSubstr(" column 2: block 17 holds the state of 46 tokens of A, expected 48; the "
                        "same in blocks 20 and 23, and of the conv windows; written by the "
                        "post-copy of step 12 (vLLM"));
  EXPECT_THAT(words_of(findings, lines[0]),
              StartsWith("running-state-wrong: step 13 A row 2 groups 1 to 3"));
}

// The conv window of group 2 ends elsewhere.
TEST(ExplainFinding, WhatDiffersInMoreThanGroupAndKindIsALineOfItsOwn) {
  std::vector<Finding> findings = three_groups();
  findings[3].seen = 45;
  const std::vector<FindingLine> lines = lines_of(findings);
  EXPECT_EQ(lines, (std::vector<FindingLine>{{0, 2, 4}, {1, 5}, {3}}));
  EXPECT_THAT(words_of(findings, lines[0]), HasSubstr("; the same in blocks 20 and 23; written"));
  EXPECT_THAT(words_of(findings, lines[1]), HasSubstr("row 2 groups 1 and 3"));
  EXPECT_EQ(words_of(findings, lines[2]), explain_finding(findings[3], letters()));
}

TEST(ExplainFinding, OneGroupsStateAndConvWindowAreOneLine) {
  std::vector<Finding> findings = three_groups();
  findings.resize(2);
  const std::vector<FindingLine> lines = lines_of(findings);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(words_of(findings, lines[0]), HasSubstr("; the same of the conv window; written"));
}

TEST(ExplainFinding, AnotherStepOrRequestIsAnotherLine) {
  std::vector<Finding> findings = three_groups();
  findings.resize(3);
  findings[1] = findings[0];
  findings[1].request = {1};
  findings[2].step = 14;
  EXPECT_EQ(lines_of(findings).size(), 3U);
}

TEST(ExplainFinding, WarningsAreOneClause) {
  EXPECT_EQ(explain_finding({.rule = Rule::chunk_off_grid,
                             .step = 1,
                             .request = {0},
                             .expected = 0,
                             .seen = 3,
                             .detail = "end of the chunk",
                             .cause = {}},
                            letters()),
            "chunk-off-grid: step 1 A: the chunk ends at token 3, off the block grid (last "
            "boundary: 0) (vLLM v1/core/sched/scheduler.py _mamba_block_aligned_split)");
  EXPECT_EQ(explain_finding({.rule = Rule::drafts_cut,
                             .step = 5,
                             .request = {1},
                             .expected = 2,
                             .seen = 1,
                             .cause = {}},
                            letters()),
            "drafts-cut: step 5 B: 1 of 2 draft tokens were scheduled (vLLM "
            "v1/core/sched/scheduler.py schedule)");
}

TEST(ExplainFinding, MemoryIsToldByItsHashes) {
  Finding finding{.rule = Rule::state_changed,
                  .step = 13,
                  .request = {0},
                  .group = 1,
                  .content = ContentKind::temporal,
                  .column = 2,
                  .block = 17,
                  .expected = 0x89ABCDEF,
                  .seen = 0x89ABCDEE,
                  .detail = "before the forward pass",
                  .cause = {.kind = WriteKind::decode, .step = 12, .request = {0}}};
  EXPECT_EQ(explain_finding(finding, letters()),
            "state-changed: step 13 A group 1 (mamba2) column 2: the state in block 17 changed "
            "before the forward pass, although nothing wrote there: hash 0x89abcdee, expected "
            "0x89abcdef; written by the decode of step 12 (docs/trace-format.md, States)");
  finding.content = ContentKind::conv;
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("the conv window in block 17 changed"));
  finding.rule = Rule::copy_differs;
  finding.expected = 9;
  finding.cause.kind = WriteKind::pre_copy;
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("the conv window of block 9 was copied to block 17, which holds other "
                        "bytes; written by the pre-copy of step 12 (vLLM "
                        "v1/worker/mamba_utils.py preprocess_mamba)"));
  finding.rule = Rule::write_missing;
  finding.cause = {};
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("the forward pass should have written the state in block 17: its conv "
                        "window has moved, but the state is that from before "
                        "(docs/trace-format.md, States)"));
  finding.rule = Rule::state_unchanged;
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("the forward pass should have written block 17, but its bytes are those "
                        "from before; right only if the row repeats one token"));
}

TEST(ExplainFinding, BytesAreToldByLayerStateAndElement) {
  Finding finding{.rule = Rule::state_bytes_wrong,
                  .step = 13,
                  .request = {0},
                  .group = 1,
                  .content = ContentKind::temporal,
                  .block = 17,
                  .expected = 0x89ABCDEF,
                  .seen = 0x89ABCDEE,
                  .detail = "written in this step",
                  .cause = {.kind = WriteKind::decode, .step = 13, .request = {0}},
                  .layer = 4,
                  .state = 1,
                  .element = 129};
  EXPECT_EQ(explain_finding(finding, letters()),
            "state-bytes-wrong: step 13 A group 1 (mamba2): block 17: element 129 of state 1 of "
            "layer 4 is 0x89abcdee, expected 0x89abcdef; written by the decode of step 13 "
            "(docs/architecture.md, State in bytes)");
  const auto json = finding_to_json(finding, letters());
  EXPECT_EQ(json["layer"], 4);
  EXPECT_EQ(json["state"], 1);
  EXPECT_EQ(json["element"], 129);
  finding.detail = "not written in this step";
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("expected 0x89abcdef, and the step did not write there; written by"));
  finding.layer = finding.state = -1;
  finding.element = -1;
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("block 17: an element of its state is 0x89abcdee, expected 0x89abcdef;"));
  EXPECT_FALSE(finding_to_json(finding, letters()).contains("layer"));
}

TEST(ExplainFinding, BlocksThatNobodyHoldsAreCounted) {
  EXPECT_THAT(explain_finding({.rule = Rule::reference_count,
                               .step = 9,
                               .expected = 0,
                               .seen = 3,
                               .detail = "blocks held although no request is left",
                               .cause = {}},
                              letters()),
              HasSubstr("step 9: 3 blocks held although no request is left"));
}

TEST(ExplainFinding, EveryPhraseCanBeFilled) {
  for (const finding_words::Phrase& phrase : finding_words::phrases()) {
    Finding finding = state_finding();
    finding.rule = phrase.rule;
    finding.detail = phrase.detail;
    const std::string text = finding_words::fill(phrase, finding, letters());
    EXPECT_FALSE(text.empty() && !phrase.detail.empty());
    EXPECT_EQ(text.find_first_of("{}"), std::string::npos) << text;
  }
}

TEST(ExplainFinding, EveryRuleHasWordsForAnyDetailAndASource) {
  for (const RuleInfo& rule : rule_table())
    for (const std::string_view detail : {"", "an unheard-of detail"})
      for (const std::int32_t number : {-1, 0, 7}) {
        Finding finding = state_finding();
        finding.rule = rule.rule;
        finding.detail = detail;
        finding.expected = finding.block = number;
        const std::string text = explain_finding(finding, letters());
        EXPECT_THAT(text, HasSubstr(std::string(rule.slug) + ": step 13 A row 2"));
        EXPECT_TRUE(text.ends_with(")") && text.find("()") == std::string::npos) << text;
      }
}

TEST(ExplainFinding, VariantsOfARuleReadDifferently) {
  Finding finding{.rule = Rule::attention_slot_unwritten,
                  .step = 2,
                  .request = {0},
                  .block = 5,
                  .expected = 9,
                  .seen = 8,
                  .detail = "the slot is not that of the token's position",
                  .cause = {}};
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("block 5: position 9 is written to the slot of position 8 (vLLM "
                        "v1/worker/block_table.py compute_slot_mapping)"));
  finding.rule = Rule::foreign_row_datum;
  finding.detail = "the row's request is not the scheduled one";
  finding.expected = 1;
  finding.seen = 2;
  EXPECT_THAT(explain_finding(finding, letters()), HasSubstr("the row names C, scheduled is B"));
  finding.rule = Rule::label_mismatch;
  finding.detail = "registered for a column that holds another block";
  EXPECT_THAT(explain_finding(finding, letters()),
              HasSubstr("block 5 is registered for a column that holds block 1"));
}

TEST(FindingToJson, HasEveryKeyInItsPlace) {
  const auto json = finding_to_json(state_finding(), letters());
  EXPECT_EQ(json.dump().substr(0, json.dump().find(",\"text\"")),
            R"({"rule":"running-state-wrong","severity":"error","step":13,"request":"A","row":2,)"
            R"("group":1,"content":"temporal","column":2,"block":17,"expected":48,"seen":46,)"
            R"("detail":null,"cause":{"kind":"post_copy","step":12,"ordinal":3,"request":"A",)"
            R"("num_tokens":46})");
  EXPECT_EQ(json["text"], explain_finding(state_finding(), letters()));
}

TEST(FindingToJson, WhatDoesNotApplyIsNull) {
  const auto json = finding_to_json(
      {.rule = Rule::no_progress, .step = 7, .expected = 2, .seen = 0, .cause = {}}, letters());
  for (const char* key : {"request", "row", "group", "content", "column", "block", "cause"})
    EXPECT_TRUE(json[key].is_null()) << key;
  EXPECT_EQ(json["expected"], 2);
  EXPECT_EQ(json["seen"], 0);
}

}  // namespace
}  // namespace hybridscope::explain_finding_test
