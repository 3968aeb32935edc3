#include <algorithm>
#include <stdexcept>

#include "tests/support/naive_cache.h"

namespace hybridscope::test {

NaiveBlockPool::NaiveBlockPool(int num_blocks) : ref_cnt(static_cast<std::size_t>(num_blocks), 0) {
  for (int block = 1; block < num_blocks; ++block) free_queue.push_back(block);
}

std::vector<int> NaiveBlockPool::get_new_blocks(int count) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) {
    if (free_queue.empty()) throw std::logic_error("naive pool: no free block left");
    const int block = free_queue.front();
    free_queue.pop_front();
    drop_hash(block);
    content_lost.insert(block);
    ref_cnt.at(static_cast<std::size_t>(block)) = 1;
    result.push_back(block);
  }
  return result;
}

void NaiveBlockPool::touch(int block) {
  if (block == 0) return;
  int& ref = ref_cnt.at(static_cast<std::size_t>(block));
  if (ref == 0) free_queue.erase(std::find(free_queue.begin(), free_queue.end(), block));
  ++ref;
}

void NaiveBlockPool::free_blocks(const std::vector<int>& list) {
  std::vector<int> to_front;
  for (const int block : list) {
    if (block == 0) continue;
    int& ref = ref_cnt.at(static_cast<std::size_t>(block));
    if (ref <= 0) throw std::logic_error("naive pool: freed twice");
    if (--ref > 0) continue;
    if (key_of.contains(block)) {
      free_queue.push_back(block);
    } else {
      to_front.push_back(block);
      content_lost.insert(block);
    }
  }
  free_queue.insert(free_queue.begin(), to_front.begin(), to_front.end());
}

bool NaiveBlockPool::register_block(int block, NaiveKey key) {
  const auto [found, added] = key_of.try_emplace(block, key);
  if (added) {
    blocks[key].push_back(block);
  } else if (found->second != key) {
    throw std::logic_error("naive pool: a block registered for two histories");
  }
  return added;
}

void NaiveBlockPool::drop_hash(int block) {
  const auto found = key_of.find(block);
  if (found == key_of.end()) return;
  std::vector<int>& same = blocks.at(found->second);
  same.erase(std::find(same.begin(), same.end(), block));
  if (same.empty()) blocks.erase(found->second);
  key_of.erase(found);
  if (ref_cnt.at(static_cast<std::size_t>(block)) == 0) content_lost.insert(block);
}

bool NaiveBlockPool::reset() {
  if (free_queue.size() + 1 != ref_cnt.size()) return false;
  for (const int block : free_queue) drop_hash(block);
  return true;
}

}  // namespace hybridscope::test
