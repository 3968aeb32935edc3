#include "tests/core/check/trace_mutations.h"

#include <algorithm>

namespace hybridscope::test {
namespace {

// Where changes are drawn from and changed arrays are kept; outlives the mutations.
struct Workshop {
  OwnedArrays& arrays;
  std::mt19937_64& random;

  std::size_t below(std::size_t limit) const { return random() % limit; }

  void change(std::int32_t& value) const {
    const std::int32_t before = value;
    switch (below(4)) {
      case 0: ++value; break;
      case 1: --value; break;
      case 2: value += 2 + static_cast<std::int32_t>(below(5)); break;
      default: value = 0;
    }
    if (value == before) ++value;
  }
};

class Mutations {
 public:
  Mutations(StepTrace& trace, OwnedArrays& arrays, std::mt19937_64& random)
      : trace_(trace), workshop_{arrays, random} {}

  std::vector<TraceMutation> collect() {
    for (std::vector<CacheEvent>* events : {&trace_.cache_events, &trace_.commit_events})
      add_events(*events);
    add_schedule();
    add_commits();
    if (trace_.rows.empty()) return std::move(mutations_);
    add_batch();
    for (GroupTrace& group : trace_.groups) {
      if (group.is_mamba)
        add_mamba_group(group);
      else
        add_attention_group(group);
    }
    add_launch("pre_copies", trace_.pre_copies);
    add_launch("post_copies", trace_.post_copies);
    return std::move(mutations_);
  }

 private:
  void add(const std::string& name, std::function<void()> plant) {
    mutations_.push_back({name, std::move(plant)});
  }
  void number(const std::string& name, std::int32_t& value) {
    add(name, [workshop = workshop_, &value] { workshop.change(value); });
  }
  void fingerprint(const std::string& name, std::uint64_t& value) {
    add(name, [&value] { value ^= 5; });
  }
  void flag(const std::string& name, bool& value) {
    add(name, [&value] { value = !value; });
  }
  // One of the first `count` elements.
  void elements(const std::string& name, TensorView<std::int32_t>& view, std::int32_t count) {
    if (!view.present || view.size() < count || count < 1) return;
    add(name, [workshop = workshop_, &view, count] {
      workshop.change(workshop.arrays.edit(view)[workshop.below(static_cast<std::size_t>(count))]);
    });
  }
  void flags(const std::string& name, TensorView<std::uint8_t>& view, std::int32_t count) {
    if (!view.present || view.size() < count || count < 1) return;
    add(name, [workshop = workshop_, &view, count] {
      std::uint8_t& value =
          workshop.arrays.edit(view)[workshop.below(static_cast<std::size_t>(count))];
      value = value == 0 ? 1 : 0;
    });
  }
  template <class T>
  void erase(const std::string& name, std::vector<T>& values, std::size_t index) {
    add(name,
        [&values, index] { values.erase(values.begin() + static_cast<std::ptrdiff_t>(index)); });
  }

  // A column with a token of this step or before; what lies beyond may never be used, and a column
  // may be emptied twice.
  bool is_live(const CacheEvent& event) const {
    for (const ScheduledTrace& scheduled : trace_.scheduled)
      if (scheduled.request == event.request && event.block != kNullBlock)
        return event.column * trace_.groups[static_cast<std::size_t>(event.group)].block_size <
               scheduled.num_computed_tokens + scheduled.num_scheduled_tokens;
    return false;
  }

  void add_events(std::vector<CacheEvent>& events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      CacheEvent& event = events[i];
      switch (event.kind) {
        case CacheEventKind::allocated:
        case CacheEventKind::touched:
        case CacheEventKind::freed:
          number("reference event: block", event.block);
          number("reference event: ref_cnt", event.ref_cnt);
          erase("reference event", events, i);
          break;
        case CacheEventKind::registered:
          number("registered: block", event.block);
          number("registered: column", event.column);
          number("registered: num_tokens", event.num_tokens);
          number("registered: group", event.group);
          fingerprint("registered: block_hash", event.block_hash);
          break;
        case CacheEventKind::evicted:
        case CacheEventKind::withdrawn: number("evicted: block", event.block); break;
        case CacheEventKind::column_set:
          if (!is_live(event)) break;

          number("column_set: block", event.block);
          number("column_set: column", event.column);
          number("column_set: group", event.group);
          number("column_set: request", event.request.value);
          erase("column_set", events, i);
          break;
        case CacheEventKind::table_dropped:
          number("table_dropped: group", event.group);
          number("table_dropped: request", event.request.value);
          erase("table_dropped", events, i);
          break;
        case CacheEventKind::free_deferred:
        case CacheEventKind::free_due:
          number("deferred free: block", event.block);
          erase("deferred free", events, i);
          break;
        case CacheEventKind::copied_from:
        case CacheEventKind::copied_to:
          number("copied: block", event.block);
          erase("copied", events, i);
          break;
      }
    }
  }

  void add_schedule() {
    for (ScheduledTrace& scheduled : trace_.scheduled) {
      number("scheduled: request", scheduled.request.value);
      number("scheduled: num_computed_tokens", scheduled.num_computed_tokens);
      number("scheduled: num_scheduled_tokens", scheduled.num_scheduled_tokens);
      number("scheduled: num_draft_tokens", scheduled.num_draft_tokens);
      number("scheduled: num_tokens", scheduled.num_tokens);
      number("scheduled: num_hit_tokens", scheduled.num_hit_tokens);
    }
    for (Fingerprint& hash : trace_.hit_hashes) fingerprint("hit_hashes", hash);
    for (Fingerprint& value : trace_.label_history) fingerprint("label_history", value);
  }

  void add_commits() {
    for (CommitTrace& commit : trace_.committed) {
      number("committed: request", commit.request.value);
      number("committed: num_computed_tokens", commit.num_computed_tokens);
      number("committed: num_tokens", commit.num_tokens);
      number("committed: num_appended_tokens", commit.num_appended_tokens);
      flag("committed: finished", commit.finished);
    }
  }

  void add_batch() {
    for (RowTrace& row : trace_.rows) {
      number("row: request", row.request.value);
      number("row: scheduled", row.scheduled);
      number("row: num_computed_tokens", row.num_computed_tokens);
      number("row: num_sampled_tokens", row.num_sampled_tokens);
      flag("row: is_prefilling", row.is_prefilling);
      fingerprint("row: history", row.history[2]);
    }
    CommonAttentionMetadata& common = trace_.common;
    number("num_reqs", common.num_reqs);
    number("num_actual_tokens", common.num_actual_tokens);
    add("query_start_loc", [workshop = workshop_, &common] {
      const auto starts = workshop.arrays.edit(common.query_start_loc);
      workshop.change(starts[workshop.below(starts.size())]);
    });
    add("seq_lens", [workshop = workshop_, &common] {
      const auto lengths = workshop.arrays.edit(common.seq_lens);
      workshop.change(lengths[workshop.below(lengths.size())]);
    });
  }

  // The column that the row's last token is in.
  void add_live_column(const std::string& name, GroupTrace& group) {
    for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
      const RowTrace& row = trace_.rows[r];
      const std::int32_t end =
          row.num_computed_tokens + trace_.scheduled_of(row).num_scheduled_tokens;
      const std::int32_t column = (end - 1) / group.block_size;
      const std::size_t index =
          r * static_cast<std::size_t>(group.block_table.cols) + static_cast<std::size_t>(column);
      add(name, [workshop = workshop_, &group, index] {
        workshop.change(workshop.arrays.edit(group.block_table)[index]);
      });
    }
  }

  void add_attention_group(GroupTrace& group) {
    add_live_column("attention block_table", group);
    for (std::size_t i = 0; i < group.attention_writes.size(); ++i) {
      AttentionWrite& write = group.attention_writes[i];
      number("attention write: row", write.row);
      number("attention write: column", write.column);
      number("attention write: block", write.block);
      number("attention write: first_slot", write.first_slot);
      number("attention write: num_slots", write.num_slots);
      number("attention write: first_token", write.first_token);
      erase("attention write", group.attention_writes, i);
    }
  }

  void add_mamba_group(GroupTrace& group) {
    add_live_column("mamba block_table", group);
    if (auto* mamba = std::get_if<MambaMetadata>(&*group.metadata)) add_mamba(*mamba);
    if (auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata)) {
      add_mamba(mamba2->base);
      if (mamba2->base.num_prefills > 0) {
        elements("seq_idx_p", mamba2->seq_idx_p, mamba2->seq_idx_p.rows);
        elements("cu_chunk_seqlen_p", mamba2->cu_chunk_seqlen_p, mamba2->cu_chunk_seqlen_p.rows);
        elements("last_chunk_indices_p", mamba2->last_chunk_indices_p, mamba2->base.num_prefills);
        flag("prep_initial_states", mamba2->prep_initial_states);
      }
    }
    if (auto* gdn = std::get_if<GdnMetadata>(&*group.metadata)) add_gdn(*gdn);
  }

  void add_mamba(MambaMetadata& metadata) {
    const auto num_rows = static_cast<std::int32_t>(trace_.rows.size());
    const std::int32_t decodes = std::min(metadata.num_decodes, num_rows);
    const std::int32_t prefills = metadata.num_prefills;
    const bool all = metadata.block_idx_last_scheduled_token.present;
    number("num_decodes", metadata.num_decodes);
    number("num_prefills", metadata.num_prefills);
    number("num_decode_tokens", metadata.num_decode_tokens);
    number("num_prefill_tokens", metadata.num_prefill_tokens);
    number("metadata num_reqs", metadata.num_reqs);
    elements("metadata seq_lens", metadata.seq_lens, metadata.seq_lens.rows);
    flags("has_initial_states_p", metadata.has_initial_states_p, prefills);
    if (prefills > 0) elements("query_start_loc_p", metadata.query_start_loc_p, prefills + 1);
    elements("num_computed_tokens_p", metadata.num_computed_tokens_p, prefills);
    if (decodes > 0) elements("query_start_loc_d", metadata.query_start_loc_d, decodes + 1);
    elements("num_accepted_tokens", metadata.num_accepted_tokens, decodes);
    elements("block_idx_last_scheduled_token", metadata.block_idx_last_scheduled_token,
             decodes + prefills);
    elements("block_idx_last_computed_token", metadata.block_idx_last_computed_token,
             decodes + prefills);
    elements("block_idx_first_scheduled_token_p", metadata.block_idx_first_scheduled_token_p,
             prefills);
    if (!all) {
      elements("state_indices_tensor_p", metadata.state_indices_tensor_p, prefills);
      elements("state_indices_tensor_d", metadata.state_indices_tensor_d,
               decodes * metadata.state_indices_tensor_d.cols);
    }
    add_conv(metadata.conv1d);
  }

  void add_conv(CausalConv1dMetadata& conv1d) {
    if (!conv1d.present) return;
    number("conv1d tot", conv1d.tot);
    elements("conv1d nums", conv1d.nums, conv1d.nums.rows);
    elements("conv1d batch_ptr", conv1d.batch_ptr, conv1d.tot);
    elements("conv1d token_chunk_offset_ptr", conv1d.token_chunk_offset_ptr, conv1d.tot);
  }

  void add_gdn(GdnMetadata& metadata) {
    const auto num_rows = static_cast<std::int32_t>(trace_.rows.size());
    const std::int32_t spec = metadata.num_spec_decodes;
    const bool mixed = metadata.num_prefills > 0;
    number("gdn num_prefills", metadata.num_prefills);
    number("gdn num_decodes", metadata.num_decodes);
    number("gdn num_spec_decodes", metadata.num_spec_decodes);
    number("gdn num_prefill_tokens", metadata.num_prefill_tokens);
    number("gdn num_decode_tokens", metadata.num_decode_tokens);
    number("gdn num_spec_decode_tokens", metadata.num_spec_decode_tokens);
    flags("gdn has_initial_state", metadata.has_initial_state, metadata.has_initial_state.rows);
    flags("gdn spec_sequence_masks", metadata.spec_sequence_masks, num_rows);
    if (spec > 0) elements("gdn spec_query_start_loc", metadata.spec_query_start_loc, spec + 1);
    elements("gdn spec_state_indices_tensor", metadata.spec_state_indices_tensor,
             spec * metadata.spec_state_indices_tensor.cols);
    elements("gdn num_accepted_tokens", metadata.num_accepted_tokens, spec);
    elements("gdn spec_token_indx", metadata.spec_token_indx, metadata.spec_token_indx.rows);
    elements("gdn non_spec_token_indx", metadata.non_spec_token_indx,
             metadata.non_spec_token_indx.rows);
    const std::int32_t others = mixed ? metadata.num_prefills : num_rows - spec;
    elements("gdn non_spec_state_indices_tensor", metadata.non_spec_state_indices_tensor, others);
    elements("gdn non_spec_query_start_loc", metadata.non_spec_query_start_loc,
             others > 0 ? others + 1 : 0);
    elements("gdn chunk_indices", metadata.chunk_indices,
             static_cast<std::int32_t>(metadata.chunk_indices.size()));
    elements("gdn chunk_offsets", metadata.chunk_offsets, metadata.chunk_offsets.rows);
    add_conv(metadata.conv1d);
  }

  void add_launch(const std::string& name, CopyLaunch& launch) {
    for (std::size_t i = 0; i < launch.copies.size(); ++i) {
      StateCopyTrace& copy = launch.copies[i];
      number(name + ": decision", copy.decision);
      number(name + ": group", copy.group);
      number(name + ": conv_src_block", copy.conv_src_block);
      number(name + ": temporal_src_block", copy.temporal_src_block);
      number(name + ": dst_block", copy.dst_block);
      number(name + ": accept_token_bias", copy.accept_token_bias);
      erase(name, launch.copies, i);
    }
  }

  StepTrace& trace_;
  Workshop workshop_;
  std::vector<TraceMutation> mutations_;
};

}  // namespace

std::vector<TraceMutation> trace_mutations(StepTrace& trace, OwnedArrays& arrays,
                                           std::mt19937_64& random) {
  return Mutations(trace, arrays, random).collect();
}

}  // namespace hybridscope::test
