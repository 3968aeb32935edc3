#include "storage/session_writer.h"

#include <gmock/gmock.h>

#include "tests/storage/recorded_run.h"

namespace hybridscope::test {
namespace {

using testing::ElementsAre;

TEST(SessionWriter, RecordsAScenarioStepByStep) {
  const TemporaryFolder folder;
  const std::string file = folder / "runs.db";
  const Status recorded = record_run(shipped_scenario("align_boundary_by_accepted_drafts"),
                                     {.place = {.file = file, .name = "one"}});
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  EXPECT_THAT(query(file, "SELECT name || ' ' || status || ' ' || num_steps FROM sessions"),
              ElementsAre("one complete 3"));
  EXPECT_THAT(query(file, "PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(query(file, "PRAGMA foreign_key_check"), ElementsAre());
  EXPECT_THAT(query(file, "SELECT step || ': ' || num_scheduled_tokens FROM v_steps ORDER BY step"),
              ElementsAre("1: 6", "2: 2", "3: 2"));
  EXPECT_THAT(query(file,
                    "SELECT request_name || ' ' || row_class || ' ' || num_computed_tokens || "
                    "'+' || num_scheduled_tokens || ' a' || num_sampled_tokens FROM v_rows "
                    "ORDER BY step"),
              ElementsAre("A prefill 0+6 a1", "A verify 6+2 a2", "A verify 8+2 a2"));
}

}  // namespace
}  // namespace hybridscope::test
