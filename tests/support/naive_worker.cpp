#include "tests/support/naive_worker.h"
#include "tests/support/naive_lists.h"

#include <algorithm>

namespace hybridscope::test {

NaiveBlockContent::NaiveBlockContent(const NaiveConfig& config)
    : conv(static_cast<std::size_t>(config.conv_width - 1 + config.num_speculative_tokens),
           kNaivePoison),
      attention(static_cast<std::size_t>(config.scheduler_block_size()), kNaivePoison) {}

NaiveWorker::NaiveWorker(const NaiveConfig& config, NaivePrefixTree& tree)
    : config_(config),
      tree_(tree),
      batch_(1 + config.num_speculative_tokens),
      slots_(config.max_num_seqs) {}

void NaiveWorker::forget(const std::set<int>& blocks) {
  for (const int block : blocks) memory_.erase(block);
}

const std::vector<std::vector<int>>& NaiveWorker::block_table(const NaiveRow& row) const {
  return held(row).block_table;
}

void NaiveWorker::run(int step, std::vector<NaiveRow>& rows) {
  step_ = step;
  copies.clear();
  for (NaiveRow& row : rows) row.num_accepted_before = held(row).num_accepted_tokens;
  if (align()) pre_copies(rows);
  for (NaiveRow& row : rows) row.num_accepted_given = held(row).num_accepted_tokens;

  const int num_attention = config_.num_attention_groups();
  for (int group = 0; group < num_attention; ++group) {
    for (const NaiveRow& row : rows) attention_forward(row, group);
    for (const NaiveRow& row : rows) check_attention(row, group);
  }
  std::vector<Write> writes;
  for (const NaiveRow& row : rows)
    for (int group = num_attention; group < config_.num_groups(); ++group)
      mamba_forward(row, group, writes);
  apply(writes, rows);

  count_sampled(rows);
  if (align() && config_.num_speculative_tokens > 0) post_copies(rows);
  for (NaiveRow& row : rows) row.num_accepted_after = held(row).num_accepted_tokens;
}

void NaiveWorker::attention_forward(const NaiveRow& row, int group) {
  const int block_size = config_.group_block_size(group);
  int node = row.prefix;
  for (int t = 0; t < row.q; ++t) {
    const int position = row.c + t;
    node = tree_.child(node, row.inputs.at(static_cast<std::size_t>(t)));
    const int block = block_at(row, group, position / block_size);
    const auto [found, added] = memory_.try_emplace(block, config_);
    at(found->second.attention, position % block_size) = node;
    const std::vector<int>& owned = row.owned_blocks.at(static_cast<std::size_t>(group));
    if (std::find(owned.begin(), owned.end(), block) == owned.end() || block == 0)
      report("foreign_write", row.request, "attention block " + std::to_string(block));
  }
}

// The keys and values of every computed token must be those of the request's own tokens.
void NaiveWorker::check_attention(const NaiveRow& row, int group) {
  const int block_size = config_.group_block_size(group);
  for (int position = row.c - 1; position >= 0; --position) {
    const int expected = tree_.shortened(row.prefix, row.c - 1 - position);
    const int block = block_at(row, group, position / block_size);
    const int seen = at(read(block).attention, position % block_size);
    if (seen == expected) continue;
    report(seen == kNaivePoison ? "unwritten_read" : "attention_read", row.request,
           "attention block " + std::to_string(block) + " position " + std::to_string(position) +
               " holds " + describe(seen, expected) + ", expected " + describe(expected, expected));
    return;
  }
}

// Column 0 of the state indices that the kernels get (semantics: mamba-get-block-table-tensor). It
// follows the exact length, even if copies followed another count.
int NaiveWorker::window_column(const NaiveRow& row) const {
  return align() ? (row.c + row.q - 1) / config_.block_size : 0;
}

void NaiveWorker::check_source(const NaiveRow& row, int group, int bias) {
  const int block = block_at(row, group, window_column(row) + bias);
  const int temporal = read(block).temporal;
  if (temporal != row.prefix)
    report(temporal == kNaivePoison ? "unwritten_read" : "source_state", row.request,
           "mamba block " + std::to_string(block) + " holds " + describe(temporal, row.prefix) +
               ", expected " + describe(row.prefix, row.prefix));
  const std::vector<int> window = read(block_at(row, group, window_column(row))).conv;
  for (int i = 0; i < width(); ++i) {
    const int expected = tree_.shortened(row.prefix, width() - 1 - i);
    if (at(window, bias + i) == expected) continue;
    report("source_conv", row.request,
           "conv position " + std::to_string(bias + i) + " holds token " +
               describe(at(window, bias + i), expected) + ", expected " +
               describe(expected, expected));
    return;
  }
}

// Decode rows; one without drafts is a verify row with q = 1 (semantics: decode-temporal,
// decode-conv, no-draft-rows). Prefill rows (semantics: prefill-initial-state, prefill-conv,
// prefill-temporal).
void NaiveWorker::mamba_forward(const NaiveRow& row, int group, std::vector<Write>& writes) {
  const int bias = row.decode ? held(row).num_accepted_tokens - 1 : 0;
  if (row.decode || row.c > 0) check_source(row, group, bias);
  int temporal = row.prefix;
  std::vector<int> window(static_cast<std::size_t>(width()), kNaiveZeros);
  if (row.decode || row.c > 0) {
    temporal = read(block_at(row, group, window_column(row) + bias)).temporal;
    const std::vector<int> conv = read(block_at(row, group, window_column(row))).conv;
    window.assign(conv.begin() + bias, conv.begin() + bias + width());
  }
  int node = row.prefix;
  for (int t = 0; t < row.q; ++t) {
    const std::uint64_t token = row.inputs.at(static_cast<std::size_t>(t));
    node = tree_.child(node, token);
    window.push_back(node);
    temporal = tree_.child(temporal, token);
    if (row.decode) writes.push_back({row.request, group, window_column(row) + t, temporal, {}});
  }
  // A verify row with q tokens keeps W - 2 old positions before them; another row holds W - 1
  // positions in all.
  const int kept = row.decode ? width() - 1 + row.q : width();
  Write last{row.request, group, window_column(row), {}, {}};
  if (!row.decode) last.temporal = temporal;
  for (int i = 0; i < kept; ++i)
    last.conv[i] = at(window, static_cast<int>(window.size()) - kept + i);
  writes.push_back(last);
}

void NaiveWorker::apply(const std::vector<Write>& writes, const std::vector<NaiveRow>& rows) {
  for (const Write& write : writes) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const NaiveRow& candidate) {
      return candidate.request == write.request;
    });
    const int block = block_at(*row, write.group, write.column);
    const std::vector<int>& owned = row->owned_blocks.at(static_cast<std::size_t>(write.group));
    if (std::find(owned.begin(), owned.end(), block) == owned.end() || block == 0)
      report("foreign_write", write.request, "mamba block " + std::to_string(block));
    NaiveBlockContent& content = memory_.try_emplace(block, config_).first->second;
    if (write.temporal) content.temporal = *write.temporal;
    for (const auto& [position, value] : write.conv) at(content.conv, position) = value;
  }
}

void NaiveWorker::check_labels(int step, const NaiveBlockPool& pool) {
  step_ = step;
  std::erase_if(mislabeled_, [&](const auto& entry) {
    const auto found = pool.key_of.find(entry.first);
    return found == pool.key_of.end() || found->second != entry.second;
  });
  for (const auto& [block, key] : pool.key_of) {
    const NaiveBlockContent content = read(block);
    std::string wrong;
    if (config_.is_attention(key.group)) {
      const int block_size = config_.group_block_size(key.group);
      for (int i = 0; i < block_size; ++i)
        if (at(content.attention, i) != tree_.shortened(key.prefix, block_size - 1 - i))
          wrong = " has a wrong slot " + std::to_string(i);
    } else if (content.temporal != key.prefix) {
      wrong = " holds " + describe(content.temporal, key.prefix);
    } else {
      for (int i = 0; i < width(); ++i)
        if (at(content.conv, i) != tree_.shortened(key.prefix, width() - 1 - i))
          wrong = " has a wrong conv position " + std::to_string(i);
    }
    if (wrong.empty() || !mislabeled_.try_emplace(block, key).second) continue;
    report("label", -1,
           "block " + std::to_string(block) + " of group " + std::to_string(key.group) +
               " registered as " + describe(key.prefix, key.prefix) + wrong);
  }
}

NaiveBlockContent NaiveWorker::read(int block) const {
  const auto found = memory_.find(block);
  return found == memory_.end() || block == 0 ? NaiveBlockContent(config_) : found->second;
}

// A column beyond the row reads as the null block.
int NaiveWorker::block_at(const NaiveRow& row, int group, int column) const {
  const std::vector<int>& list = held(row).block_table.at(static_cast<std::size_t>(group));
  return column < static_cast<int>(list.size()) ? at(list, column) : 0;
}

std::string NaiveWorker::describe(int node, int expected) const {
  if (node == kNaivePoison) return "nothing";
  const std::string count = std::to_string(tree_.depth(node));
  return tree_.is_prefix(node, expected) || tree_.is_prefix(expected, node)
             ? count
             : count + " of another history";
}

void NaiveWorker::report(const std::string& rule, int request, const std::string& detail) {
  violations.push_back({step_, rule, request, detail});
}

}  // namespace hybridscope::test
