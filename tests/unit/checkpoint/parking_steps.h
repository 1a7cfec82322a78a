// The actions of parking.h, with the code that each stands for.
#pragma once

#include "explorer.h"

namespace model {

namespace parking_steps {
#define IN_REST "rewind/threads_rest.c"
#define IN_PARK "rewind/threads_park.c"
inline constexpr Step kList{"first: lists the threads", IN_REST, "look",
                            "threads_visit(list_one, NULL)"};
inline constexpr Step kGiveUp{"first: gives up", IN_REST, "threads_await_rest",
                              "its threads do not rest"};
inline constexpr Step kLook{"first: looks at a thread", IN_REST, "look", "can_wait_again(thread)"};
inline constexpr Step kCheck{"first: compares pending signals", IN_PARK, "has_lines_of_first",
                             "\"SigPnd:\""};
inline constexpr Step kStay{"first: orders to stay", IN_PARK, "park_all",
                            "&order, of_attempt(++attempt, ORDER_STAY)"};
inline constexpr Step kInstall{
    "first: installs its handler", IN_PARK, "handle_park",
    "if (!is_handled && raw_call(SYS_rt_sigaction, kThreadSignal, NULL, &replaced"};
inline constexpr Step kTell{"first: tells a thread", IN_PARK, "park_all",
                            "if (tell(thread->id) != 0)"};
inline constexpr Step kCame{"first: sees that a thread has come", IN_PARK, "parked_how",
                            "noted = __atomic_load_n(&thread->is_parked"};
inline constexpr Step kLate{"first: gives a thread up", IN_PARK, "comes_to_park", "*all_came = 0"};
inline constexpr Step kCount{"first: counts the threads", IN_PARK, "park_all",
                             "threads_visit(only_count, NULL) =="};
inline constexpr Step kRestore{"first: puts libc's handler back", IN_PARK, "park_all",
                               "if (all_came) handle_as_before()"};
inline constexpr Step kRun{"first: orders to run", IN_PARK, "threads_let_run",
                           "give_order(ORDER_RUN)"};
inline constexpr Step kEnd{"first: orders to end", IN_PARK, "threads_end_parked",
                           "give_order(ORDER_END)"};
inline constexpr Step kWake{"first: wakes", IN_PARK, "give_order",
                            "raw_call(SYS_futex, &order, FUTEX_WAKE, INT_MAX"};
inline constexpr Step kCopy{"first: memory is copied", IN_PARK, "threads_end_parked",
                            "give_order(ORDER_END)"};
inline constexpr Step kFinds{"first: finds a lock", IN_PARK, "threads_park",
                             "what_is_in_the_way()"};
inline constexpr Step kAlone{"first: sees that it is alone", IN_PARK, "threads_end_parked",
                             "threads_of_process() == 1"};
inline constexpr Step kSignal{"thread: takes the signal"};
inline constexpr Step kLibcs{"thread: libc's handler handles libc's signal"};
inline constexpr Step kPassOn{"thread: passes libc's signal on", IN_PARK, "on_park",
                              "if (!is_told(info)) return pass_on"};
inline constexpr Step kEnter{"thread: finds its row", IN_PARK, "on_park",
                             "parked_thread_of((pid_t)raw_call(SYS_gettid))"};
inline constexpr Step kFrame{"thread: notes its frame", IN_PARK, "on_park",
                             "thread->frame = (uintptr_t)frame"};
inline constexpr Step kNote{"thread: notes that it is parked", IN_PARK, "on_park",
                            "__atomic_store_n(&thread->is_parked, of_attempt(told_in, stands ?"};
inline constexpr Step kOrder{"thread: looks at the order", IN_PARK, "on_park",
                             "now = __atomic_load_n(&order"};
inline constexpr Step kSleep{"thread: sleeps if the order is to stay", IN_PARK, "on_park",
                             "raw_call(SYS_futex, &order, FUTEX_WAIT, stay"};
inline constexpr Step kEvent{"outside: ends a thread's wait"};
inline constexpr Step kWait{"thread: waits as before"};
inline constexpr Step kWaitElsewhere{"thread: waits for something else"};
inline constexpr Step kExit{"thread: ends"};
inline constexpr Step kStart{"thread: starts another"};
inline constexpr Step kUser{"thread: changes the user of another, by libc"};
#undef IN_REST
#undef IN_PARK
}  // namespace parking_steps

}  // namespace model
