#include "sessions/matrix/matrix_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::matrix_cell_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(MatrixCell, AreAllCombinationsOfTheAxesOnce) {
  const std::vector<MatrixCell> cells = all_cells();
  EXPECT_EQ(cells.size(), 3 * 5 * 2 * 2 * 2 * 2 * 5 * 4 * 3 * 2 * 2);
  EXPECT_EQ(num_cells(), cells.size());
  EXPECT_EQ(std::set(cells.begin(), cells.end()).size(), cells.size());
}

TEST(MatrixCell, IsCalledByItsValuesInTheOrderOfTheAxes) {
  const std::string name = "align/mtp2/on/DS/v1/async/full_decode_only/reset/dense/block/none";
  const MatrixCell cell = cell_called(name);
  EXPECT_EQ(cell_name(cell), name);
  EXPECT_EQ(cell.mamba_cache_mode(), MambaCacheMode::align);
  EXPECT_EQ(cell.speculative_method(), SpeculativeMethod::mtp);
  EXPECT_EQ(cell.num_speculative_tokens(), 2);
  EXPECT_TRUE(cell.enable_prefix_caching());
  EXPECT_EQ(cell.layout(), ConvStateLayout::DS);
  EXPECT_EQ(cell.runner(), ModelRunner::v1);
  EXPECT_TRUE(cell.async_scheduling());
  EXPECT_EQ(cell.cudagraph_mode(), CUDAGraphMode::full_decode_only);
  EXPECT_EQ(cell.pressure(), Pressure::reset);
  for (const MatrixCell& one : all_cells()) EXPECT_EQ(cell_called(cell_name(one)), one);
}

TEST(MatrixCell, ANameThatIsNoneTellsWhatIsWrong) {
  EXPECT_THAT(parse_cell("align/mtp2").error().message,
              HasSubstr("is not a cell: 2 values, expected 11, one an axis"));
  EXPECT_THAT(
      parse_cell("algin/mtp2/on/SD/v1/sync/none/none/dense/block/none").error().message,
      StartsWith("axis mode has no value \"algin\", did you mean \"align\"? (expected none, "
                 "align, all)"));
}

// Without prefix caching there is nothing to keep states for; mode none has no prefix caching; the
// builders of recurrent layers take no mixed batch in a full graph.
TEST(MatrixCell, StandsForAnotherWhereTheReferenceChangesASetting) {
  const auto other = [](const std::string& name) -> std::string {
    const auto cell = stands_for(cell_called(name));
    return cell ? cell_name(*cell) : "itself";
  };
  EXPECT_EQ(other("align/mtp1/off/SD/v1/sync/none/none/dense/block/none"),
            "none/mtp1/off/SD/v1/sync/none/none/dense/block/none");
  EXPECT_EQ(other("none/mtp1/on/SD/v1/sync/none/none/dense/block/none"),
            "none/mtp1/off/SD/v1/sync/none/none/dense/block/none");
  EXPECT_EQ(other("align/mtp1/on/SD/v1/sync/full/none/dense/block/none"),
            "align/mtp1/on/SD/v1/sync/full_and_piecewise/none/dense/block/none");
  EXPECT_EQ(other("all/mtp1/off/SD/v1/sync/full/none/dense/block/none"),
            "none/mtp1/off/SD/v1/sync/full_and_piecewise/none/dense/block/none");
  EXPECT_EQ(other("align/mtp1/on/SD/v1/sync/none/none/dense/block/none"), "itself");
  EXPECT_EQ(other("none/mtp1/off/SD/v1/sync/none/none/dense/block/none"), "itself");
}

// Without prefix caching there is nothing to retain or to match; in mode align alone hits end
// inside blocks and layers store states inside prefills.
TEST(MatrixCell, StandsForAnotherWhereASettingChangesNothing) {
  const auto other = [](const std::string& name) -> std::string {
    const auto cell = stands_for(cell_called(name));
    return cell ? cell_name(*cell) : "itself";
  };
  EXPECT_EQ(other("none/mtp1/off/SD/v1/sync/none/none/2B/finer/in_prefills"),
            "none/mtp1/off/SD/v1/sync/none/none/dense/block/none");
  EXPECT_EQ(other("all/mtp1/on/SD/v1/sync/none/none/0/finer/in_prefills"),
            "all/mtp1/on/SD/v1/sync/none/none/0/block/none");
  EXPECT_EQ(other("align/mtp1/on/SD/v1/sync/none/none/0/finer/in_prefills"), "itself");
}

TEST(MatrixCell, IsRefusedWhereAnEngineDoesNotStart) {
  EXPECT_EQ(
      refusal_of(cell_called("align/mtp3/on/DS/v1/async/full_and_piecewise/none/dense/block/none")),
      "");
  EXPECT_EQ(refusal_of(cell_called("align/ngram/on/SD/v2/sync/full/none/dense/block/none")), "");
  EXPECT_EQ(refusal_of(cell_called("align/ngram/on/SD/v2/async/full/none/dense/block/none")), "");
  EXPECT_THAT(refusal_of(cell_called("align/ngram/on/SD/v1/async/full/none/dense/block/none")),
              HasSubstr("async_scheduling is on with method ngram on runner v1"));
  EXPECT_THAT(refusal_of(cell_called("align/mtp1/on/DS/v2/sync/full/none/dense/block/none")),
              HasSubstr("ssm_conv_state_layout is DS with speculative tokens on runner v2"));
}

TEST(CellFilter, TakesTheValuesThatAreNamed) {
  EXPECT_EQ(cells_with({}).size(), num_cells());
  EXPECT_EQ(cells_with({"mode=align,all"}).size(), num_cells() / 3 * 2);
  EXPECT_EQ(cells_with({"mode=align", "mode=all", "runner=v2"}).size(), num_cells() / 3);
  CellFilter filter;
  for (const char* text : {"runner=v2", "mode=all,align"}) ASSERT_TRUE(filter.add(text).ok());
  EXPECT_EQ(filter.text(), "mode=align,all runner=v2");
}

TEST(CellFilter, TellsWhichAxesAndValuesThereAre) {
  CellFilter filter;
  EXPECT_THAT(filter.add("mdoe=align").error().message,
              StartsWith("there is no axis \"mdoe\", did you mean \"mode\"?"));
  EXPECT_THAT(filter.add("runner").error().message,
              HasSubstr("names no value (expected runner=VALUE,... of v1, v2)"));
  EXPECT_THAT(filter.add("runner=v3").error().message,
              HasSubstr("axis runner has no value \"v3\""));
}

}  // namespace
}  // namespace hybridscope::test::matrix_cell_test
