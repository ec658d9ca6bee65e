/*
 * One attempt at a step: in a nest that waits for it, where there is one, and how it ends with or
 * without.
 */
#include "engine/attempt.h"
#include "engine/keeper.h"
#include "base/fd.h"
#include "base/str.h"

/* The parts of a worker of ours are the same for all of its runs, as is what a toolchain was
 * readied with. */
static bool is_shared(const struct passage *passage, const struct plan_mount *mount)
{
        return mount->kind == PLAN_MOUNT_SYSTEM || wasm_is_part(passage, mount) ||
               (passage->is_prepared && mount->kind == PLAN_MOUNT_READ &&
                str_equal(mount->source, passage->prepared_path));
}

/* A run that brings nothing of the host's with it can be hatched in a nest. */
static bool fits_a_nest(const struct passage *passage, const struct plan *plan)
{
        bool fits = engine_is_warm(passage->engine) && passage->backend->kind == PLAN_CONTAINER &&
                    plan->network == PLAN_NETWORK_NONE && !plan->listener_port &&
                    !plan->workspace[0] && !plan->best_effort;

        if (docker_is_used(passage))
                return engine_is_warm(passage->engine) && docker_fits_pool(plan);
        for (uint32_t i = 0; i < plan->mount_count && fits; i++)
                fits = is_shared(passage, &plan->mounts[i]);
        return fits;
}

static bool borrow_nest(struct engine *engine, const struct nest_kind *kind, bool has_groups,
                        struct lodging *ret_lodging)
{
        int connection;

        (void)pthread_mutex_lock(&engine->lock);
        connection = fd_take(&engine->keeper_fd);
        (void)pthread_mutex_unlock(&engine->lock);
        if (connection < 0)
                connection = keeper_connect(engine->keeper_path);
        if (connection < 0 || !keeper_borrow(connection, kind, ret_lodging)) {
                fd_close(connection);
                return false;
        }
        /* The plan counts on the groups that this process could make itself. */
        for (int i = 0; i < CGROUP_CONTROLLERS && has_groups; i++)
                if (engine->site.parent_fds[i] >= 0 &&
                    (ret_lodging->nest->run.group.dir_fds[i] < 0 ||
                     ret_lodging->nest->run.group.version != engine->site.version)) {
                        keeper_give_back(ret_lodging, true);
                        return false;
                }
        return true;
}

static void give_nest(struct engine *engine, struct lodging *lodging, bool clean)
{
        if (lodging->connection < 0)
                nests_give(engine->nests, lodging, clean);
        else
                keeper_give_back(lodging, clean);
        lodging->nest = NULL;
}

static int find_kind(const struct passage *passage, const struct attempt *attempt,
                     const struct plan_draft *draft, struct nest_kind *ret_kind)
{
        return docker_is_used(passage)
                       ? docker_kind_make(passage, draft, ret_kind)
                       : nest_kind_make(passage->engine, draft, wasm_language(passage),
                                        &attempt->input.group_limits, ret_kind);
}

static bool take_nest(struct passage *passage, struct attempt *attempt,
                      const struct plan_draft *draft)
{
        struct nest_kind kind;
        bool taken;

        if (passage->order->request->no_warm || !fits_a_nest(passage, &draft->plan) ||
            find_kind(passage, attempt, draft, &kind) < 0)
                return false;
        taken = passage->engine->nests
                        ? nests_take(passage->engine->nests, &kind, &attempt->lodging)
                        : nest_kind_complete(&kind) == 0 &&
                                  borrow_nest(passage->engine, &kind, !docker_is_used(passage),
                                              &attempt->lodging);
        nest_kind_done(&kind);
        return taken;
}

static int start_in_nest(struct passage *passage, struct attempt *attempt, struct plan *plan,
                         struct error *err)
{
        struct lodging *lodging = &attempt->lodging;
        int r;

        if (lodging->nest->guest)
                r = nest_hand_over(lodging->nest, passage->backend, plan, &attempt->input,
                                   &attempt->run, err);
        else if (docker_is_used(passage))
                r = nest_hatch_whole(passage->backend, lodging->nest, plan, &attempt->input,
                                     &attempt->run, err);
        else
                r = nest_hatch(passage->backend, lodging->nest, lodging->park, plan,
                               &attempt->input, &attempt->run, err);
        if (r < 0) {
                give_nest(passage->engine, lodging, false);
                return r;
        }
        passage->result->warm = docker_is_used(passage) ? "once" : lodging_way(lodging);
        passage_tell(passage, "slot.used", lodging_slot(lodging));
        return 0;
}

bool attempt_in_nest(struct passage *passage, struct attempt *attempt, struct plan_draft *draft,
                     struct error *err)
{
        attempt->is_open = take_nest(passage, attempt, draft) &&
                           start_in_nest(passage, attempt, &draft->plan, err) == 0;
        return attempt->is_open;
}

void attempt_let_go(struct attempt *attempt)
{
        run_let_go(&attempt->run);
}

static void end_open(struct passage *passage, struct attempt *attempt)
{
        const struct run *run = &attempt->run;

        attempt->lodging.is_unanswered = run->keeper_pid > 0 && run->is_overdue;
        if (run_finish(&attempt->run) > 0)
                passage_tell(passage, "cleanup.leftover", "a control group could not be removed");
        run_close(&attempt->run); /* what it pins must be gone before the nest is looked at */
        if (attempt->lodging.nest)
                give_nest(passage->engine, &attempt->lodging,
                          !attempt->lodging.is_once &&
                                  nest_renew(attempt->lodging.nest, &attempt->run));
        attempt->is_open = false;
}

/* What is a keeper's is for the keeper to look at. */
static bool has_own_nest(const struct attempt *attempt)
{
        return attempt->is_open && attempt->lodging.nest && attempt->lodging.connection < 0;
}

void attempt_settle(struct passage *passage, struct attempt *attempt)
{
        if (has_own_nest(attempt) &&
            nests_settle(passage->engine->nests, &attempt->lodging, &attempt->run))
                attempt->is_open = false;
        attempt_end(passage, attempt);
}

void attempt_end(struct passage *passage, struct attempt *attempt)
{
        if (attempt->is_open)
                end_open(passage, attempt);
        mem_free(attempt->host.early);
        attempt->host.early = NULL;
}
