#include "kernels/expect_valid.h"

#include "core/base/check.h"

namespace hybridscope {
namespace {

class OpsCheck {
 public:
  OpsCheck(const MemoryMap& map, const StateOps& ops) : map_(map), ops_(ops) {}

  void batch(const StateOpBatch& batch) const {
    const std::size_t size = batch.kind == StateOpKind::poison ? ops_.poisoned.size()
                             : batch.kind == StateOpKind::copy ? ops_.copies.size()
                                                               : ops_.rows.size();
    expect_inside(batch.first, batch.count, size);
  }
  void target(std::int32_t block) const { HS_EXPECT(block >= 0 && block < map_.num_blocks); }
  void source(std::int32_t block) const {
    HS_EXPECT(block >= kPoisonSource && block < map_.num_blocks);
  }
  void group(std::int32_t index) const {
    HS_EXPECT(index >= 0 && static_cast<std::size_t>(index) < map_.group_states.size());
  }
  void copy(const StateCopyOp& copy) const {
    group(copy.group_index);
    HS_EXPECT(copy.conv_src_block != kNoSource && copy.temporal_src_block != kNoSource);
    source(copy.conv_src_block);
    source(copy.temporal_src_block);
    target(copy.dst_block);
    HS_EXPECT(copy.accept_token_bias >= 0);
  }
  void row(const ForwardRow& row) const {
    group(row.group_index);
    source(row.temporal_src_block);
    source(row.conv_src_block);
    HS_EXPECT(row.conv_src_position >= 0);
    expect_inside(row.first_token, row.num_tokens, ops_.tokens.size());
    expect_inside(row.first_write, row.num_writes, ops_.writes.size());
    for (std::int32_t i = 0; i < row.num_writes; ++i) {
      const ForwardWrite& write = ops_.writes[static_cast<std::size_t>(row.first_write + i)];
      target(write.block);
      HS_EXPECT(write.num_tokens >= 0 && write.num_tokens <= row.num_tokens);
    }
  }

 private:
  static void expect_inside(std::int32_t first, std::int32_t count, std::size_t size) {
    HS_EXPECT(first >= 0 && count >= 0 && static_cast<std::size_t>(first) <= size &&
              static_cast<std::size_t>(count) <= size - static_cast<std::size_t>(first));
  }
  const MemoryMap& map_;
  const StateOps& ops_;
};

}  // namespace

void expect_valid(const MemoryMap& map, const BlockContents& contents) {
  for (const BlockContent& content : contents.blocks) {
    HS_EXPECT(content.group_index >= 0 &&
              static_cast<std::size_t>(content.group_index) < map.group_states.size());
    HS_EXPECT(content.block >= 0 && content.block < map.num_blocks);
    if (content.kind == StateKind::temporal) continue;
    HS_EXPECT(content.first_position >= 0 &&
              content.first_position + map.widest_conv() <=
                  static_cast<std::int64_t>(contents.conv_fingerprints.size()));
  }
}

void expect_valid(const MemoryMap& map, const StateOps& ops) {
  const OpsCheck check(map, ops);
  HS_EXPECT(ops.tokens.size() == ops.token_fingerprints.size());
  for (const StateOpBatch& batch : ops.batches) check.batch(batch);
  for (const std::int32_t block : ops.poisoned) check.target(block);
  for (const StateCopyOp& copy : ops.copies) check.copy(copy);
  for (const ForwardRow& row : ops.rows) check.row(row);
}

}  // namespace hybridscope
