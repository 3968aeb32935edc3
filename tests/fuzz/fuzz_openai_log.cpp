// The reader of request logs in OpenAI's style.
#include "sessions/traffic/openai_log.h"
#include "tests/fuzz/fuzz_traffic_log.h"

namespace hybridscope::test {

void fuzz_openai_log(std::string_view text) { read_log(read_openai_log, text); }

}  // namespace hybridscope::test
