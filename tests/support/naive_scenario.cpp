#include "tests/support/naive_scenario.h"

#include <algorithm>

namespace hybridscope::test {
namespace {

// SplitMix64 step, as a keyed function and as a stream.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint64_t keyed(std::uint64_t seed, int a, int b, int purpose) {
  std::uint64_t x = scramble(seed);
  for (const int part : {a, b, purpose}) x = scramble(x ^ static_cast<std::uint64_t>(part));
  return x;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(scramble(seed)) {}
  int between(int low, int high) {
    state_ = scramble(state_);
    return low + static_cast<int>(state_ % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(int n) { return between(1, n) == 1; }

 private:
  std::uint64_t state_;
};

// Output tokens have the low bit set, prompt tokens do not, so they never match unless a prompt
// repeats an output on purpose.
std::uint64_t output_content(std::uint64_t seed, int request, int position) {
  return (keyed(seed, request, position, 1) >> 2) | 1;
}

std::uint64_t prompt_content(std::uint64_t seed, int family, int position) {
  return (keyed(seed, family, position, 2) >> 2) & ~std::uint64_t{1};
}

NaiveConfig random_config(NaiveCacheMode mode, std::uint64_t seed, Draw& draw) {
  NaiveConfig config;
  config.mode = mode;
  config.block_size = draw.one_in(3) ? 4 : 8;
  config.num_mamba_groups = draw.between(1, 2);
  config.num_speculative_tokens = draw.between(0, 3);
  config.use_eagle = config.num_speculative_tokens > 0 && draw.between(1, 3) > 1;
  config.max_model_len = draw.between(40, 72);
  config.max_num_seqs = draw.between(2, 5);
  config.max_num_batched_tokens = draw.between(12, 48);
  if (draw.one_in(5)) config.conv_width = draw.between(2, 3);
  if (draw.one_in(4)) config.long_prefill_token_threshold = draw.between(8, 20);
  config.full_sequence_must_fit = draw.one_in(3);
  if (draw.one_in(3)) config.policy = NaivePolicy::priority;

  const int K = config.num_speculative_tokens;
  const int state_blocks = (mode == NaiveCacheMode::align ? 3 : 1) + K;
  const int one_request =
      config.max_model_len / config.block_size + 1 + config.num_mamba_groups * state_blocks;
  config.num_blocks = 1 + one_request + draw.between(0, draw.one_in(2) ? 4 : 2 * one_request);

  const int percent = draw.between(0, 10) * 10;
  config.output_token = [seed](int request, int position) {
    return output_content(seed, request, position);
  };
  config.num_accepted = [seed, percent](int request, int c, int d) {
    int a = 1;
    while (a <= d && static_cast<int>(keyed(seed, request, c + a, 3) % 100) < percent) ++a;
    return a;
  };
  const bool always_k = config.use_eagle || draw.one_in(3);
  config.num_drafts = [seed, K, always_k](int request, int position) {
    if (always_k) return K;
    return static_cast<int>(keyed(seed, request, position, 4) % static_cast<std::uint64_t>(K + 1));
  };
  return config;
}

void set_variant(NaiveConfig& config, NaiveVariant variant) {
  config.async_scheduling = variant.async_scheduling;
  config.runner = variant.runner;
  if (variant.async_scheduling || variant.runner == NaiveRunner::v2)
    config.num_drafts = [K = config.num_speculative_tokens](int, int) { return K; };
}

// A prompt that starts like the others of its family, or like an earlier request's prompt and
// output.
NaiveRequestSpec random_request(const NaiveScenario& scenario,
                                const std::vector<NaiveRequestSpec>& earlier, Draw& draw) {
  const int longest = scenario.config.max_model_len - 8;
  const int number = static_cast<int>(earlier.size());
  NaiveRequestSpec spec;
  if (number > 0 && draw.one_in(3)) {
    const int parent = draw.between(0, number - 1);
    spec.prompt = earlier.at(static_cast<std::size_t>(parent)).prompt;
    const int outputs = draw.between(0, earlier.at(static_cast<std::size_t>(parent)).max_tokens);
    for (int i = 0; i < outputs; ++i)
      spec.prompt.push_back(
          output_content(scenario.seed, parent, static_cast<int>(spec.prompt.size())));
  } else {
    const int family = draw.between(0, 1);
    const int shared = draw.between(1, 30);
    for (int i = 0; i < shared; ++i)
      spec.prompt.push_back(prompt_content(scenario.seed, family, i));
  }
  const int tail = draw.one_in(3) ? 0 : draw.between(1, 12);
  for (int i = 0; i < tail; ++i)
    spec.prompt.push_back(prompt_content(scenario.seed, 100 + number, i));
  if (static_cast<int>(spec.prompt.size()) > longest)
    spec.prompt.resize(static_cast<std::size_t>(longest));
  spec.max_tokens = draw.between(1, 20);
  spec.priority = draw.between(0, 2);
  spec.arrival = number;
  if (draw.one_in(12)) spec.cache_salt = 7;
  return spec;
}

void add_disturbances(NaiveScenario& scenario, int num_requests, int last_step, Draw& draw) {
  const auto put = [&](NaiveCommandKind kind) {
    scenario.commands[draw.between(1, last_step)].push_back(
        {kind, draw.between(0, num_requests - 1), {}});
  };
  if (draw.one_in(2))
    for (int i = draw.between(1, 4); i > 0; --i) put(NaiveCommandKind::preempt);
  if (draw.one_in(4)) put(NaiveCommandKind::abort);
  if (draw.one_in(5)) put(NaiveCommandKind::reset);
  if (draw.one_in(5)) put(NaiveCommandKind::reset_running);
}

}  // namespace

int NaiveScenario::last_event_step() const {
  const int last_command = commands.empty() ? 0 : commands.rbegin()->first;
  return std::max(last_command, budgets.empty() ? 0 : budgets.rbegin()->first);
}

NaiveScenario random_naive_scenario(NaiveCacheMode mode, std::uint64_t seed, NaiveVariant variant) {
  Draw draw(seed * 2 + (mode == NaiveCacheMode::align ? 1 : 0));
  NaiveScenario scenario;
  scenario.seed = seed;
  scenario.config = random_config(mode, seed, draw);
  set_variant(scenario.config, variant);
  const int num_requests = draw.between(2, 7);
  const int spread = draw.between(1, 5);
  std::vector<NaiveRequestSpec> specs;
  int step = 0;
  for (int i = 0; i < num_requests; ++i) {
    specs.push_back(random_request(scenario, specs, draw));
    scenario.commands[step].push_back({NaiveCommandKind::add, -1, specs.back()});
    step += draw.between(0, spread);
  }
  const int last_step = step + draw.between(5, 25);
  if (draw.between(1, 3) > 1)
    for (int s = 0; s < last_step; ++s)
      if (draw.one_in(2)) scenario.budgets[s] = draw.between(0, 14);
  add_disturbances(scenario, num_requests, last_step, draw);
  return scenario;
}

std::string fault_of(const NaiveScenario& scenario, const NaiveRun& run) {
  std::string fault;
  if (!run.finished) fault += " did not finish";
  if (run.steps.back().free_queue.size() + 1 !=
      static_cast<std::size_t>(scenario.config.num_blocks))
    fault += " kept blocks";
  if (run.violations.empty()) return fault;
  const NaiveViolation& violation = run.violations.front();
  return fault + " step " + std::to_string(violation.step) + " " + violation.rule + " request " +
         std::to_string(violation.request) + ": " + violation.detail;
}

void apply_naive_command(NaiveEngine& engine, const NaiveCommand& command) {
  const bool known = command.request < engine.num_requests();
  switch (command.kind) {
    case NaiveCommandKind::add: engine.add_request(command.spec); break;
    case NaiveCommandKind::preempt:
      if (known) engine.preempt(command.request);
      break;
    case NaiveCommandKind::abort:
      if (known) engine.abort(command.request);
      break;
    case NaiveCommandKind::reset: engine.reset_prefix_cache(false); break;
    case NaiveCommandKind::reset_running: engine.reset_prefix_cache(true); break;
  }
}

NaiveRun run_naive_scenario(const NaiveScenario& scenario, NaiveRunUntil until, int step_limit) {
  NaiveEngine engine(scenario.config);
  NaiveRun run;
  const int last_event = scenario.last_event_step();
  bool goes_on = true;
  for (int step = 0; step < step_limit && goes_on; ++step) {
    const auto commands = scenario.commands.find(step);
    if (commands != scenario.commands.end())
      for (const NaiveCommand& command : commands->second) apply_naive_command(engine, command);
    const auto budget = scenario.budgets.find(step);
    run.steps.push_back(budget == scenario.budgets.end() ? engine.step()
                                                         : engine.step(budget->second));
    const std::vector<NaiveViolation>& found = run.steps.back().violations;
    run.violations.insert(run.violations.end(), found.begin(), found.end());
    const bool stops = until == NaiveRunUntil::first_violation && !found.empty();
    run.finished = !stops && step >= last_event && engine.finished();
    goes_on = !stops && !run.finished;
  }
  for (int request = 0; request < engine.num_requests(); ++request)
    run.tokens.push_back(engine.tokens(request));
  return run;
}

}  // namespace hybridscope::test
