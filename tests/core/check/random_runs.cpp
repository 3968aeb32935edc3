#include "tests/core/check/random_runs.h"

namespace hybridscope::test {

std::int32_t below(Random& random, std::int32_t limit) {
  return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(limit));
}

SmallEngine random_engine(Random& random) {
  constexpr MambaCacheMode modes[] = {MambaCacheMode::none, MambaCacheMode::align,
                                      MambaCacheMode::align, MambaCacheMode::all};
  constexpr MambaType types[] = {MambaType::mamba1, MambaType::mamba2, MambaType::gdn_attention};
  SmallEngine small;
  small.mamba_type = types[below(random, 3)];
  small.mode = modes[below(random, small.mamba_type == MambaType::gdn_attention ? 3 : 4)];
  small.num_speculative_tokens = below(random, 4);
  small.block_size = small.num_speculative_tokens + 1 + below(random, 6);
  small.method = below(random, 2) == 0 ? SpeculativeMethod::mtp : SpeculativeMethod::ngram;
  small.num_mamba_groups = 1 + below(random, 3);
  small.num_blocks = 400;
  small.max_num_batched_tokens = small.block_size + below(random, 30);
  small.max_num_seqs = 2 + below(random, 7);
  small.max_model_len = 64;
  return small;
}

AddRequest random_request(Random& random) {
  const std::int32_t tokens = 1 + below(random, 35);
  const std::int32_t max_tokens = 1 + below(random, 20);
  const std::uint64_t text = random() | 1;  // 0 is the shared text
  AddRequest request = request_of(tokens, max_tokens, text, below(random, tokens + 1));
  request.priority = below(random, 3);
  return request;
}

void random_command(Random& random, PlantedRun& run) {
  const RequestId request{below(random, run.engine().num_requests())};
  const std::int32_t num_spec = run.engine().config().num_speculative_tokens;
  switch (below(random, 12)) {
    case 0:
      run.apply(PreemptRequest{request});
      break;
    case 1:
      run.apply(AbortRequest{request});
      break;
    case 2:
      run.apply(ResetPrefixCache{below(random, 2) == 0});
      break;
    case 3:
      run.apply(SetStepBudget{below(random, run.engine().config().max_num_batched_tokens)});
      break;
    case 4:
    case 5:
      run.apply(SetAcceptedTokens{request, 1 + below(random, 1 + num_spec)});
      break;
    case 6:
      run.apply(SetDraftTokens{request, below(random, 1 + num_spec)});
      break;
    default:
      break;
  }
}

}  // namespace hybridscope::test
