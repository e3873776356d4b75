import GRDB

/// The tables, as named migrations. From the first release on, migrations are only appended.
///
/// Instants are milliseconds since 1970, and durations are milliseconds. Every frequently used table is clustered by
/// the integers that order it, so neighbors in a flight are neighbors on disk. History is numbered across all
/// activities.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(
            "1 activities, lanes, phones, tokens and their owners, budgets, notifications, refreshes, history, keys"
        ) { db in
            for statement in [activities, phones, tokens, notifications, refreshes, records] {
                try db.execute(sql: statement)
            }
        }
        migrator.registerMigration("2 announced activities by their age") { db in try db.execute(sql: announced) }
        migrator.registerMigration("3 events, webhooks") { db in try db.execute(sql: events) }
        migrator.registerMigration("4 activities by app and phase") { db in try db.execute(sql: listed) }
        migrator.registerMigration("5 numbered reports") { db in try db.execute(sql: numbered) }
        migrator.registerMigration("6 what a day made, cards by device, tokens that nothing holds") { db in
            try db.execute(sql: devices)
        }
        migrator.registerMigration("7 formats of packed columns") { _ in
            // No table changes. Versions that do not know the formats of these columns refuse the database.
        }
        migrator.registerMigration("8 use by each app, walk through people, deliveries by activity") { db in
            try db.execute(sql: use)
        }
        migrator.registerMigration("9 cards of a day that wait") { db in try db.execute(sql: waiting) }
        migrator.registerMigration("10 what a phone waits for, kept apart") { _ in
            // No table changes: see `PackedFormat.instance`.
        }
        migrator.registerMigration("11 alerts pushed and told, kept apart") { _ in
            // No table changes: see `PackedFormat.instance`.
        }
        migrator.registerMigration("12 cards on channels, and opened") { _ in
            // No table changes: see `PackedFormat.instance`.
        }
        migrator.registerMigration("13 lanes that wait for a condition") { db in try db.execute(sql: conditions) }
        migrator.registerMigration("14 broadcast channels") { db in try db.execute(sql: channels) }
        return migrator
    }

    private static let activities = """
        CREATE TABLE activity (
            no INTEGER PRIMARY KEY, app TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, phase TEXT NOT NULL,
            run INTEGER NOT NULL, run_started_at INTEGER NOT NULL, rev INTEGER NOT NULL, priority TEXT NOT NULL,
            relevance REAL, stale_at INTEGER, stale_after INTEGER, start_mode TEXT NOT NULL, devices TEXT NOT NULL,
            restart TEXT NOT NULL, alert TEXT, fallback TEXT, alert_ids TEXT, dismissal TEXT NOT NULL,
            changed_at INTEGER NOT NULL, accepted_at INTEGER NOT NULL, hold_until INTEGER NOT NULL,
            lap INTEGER NOT NULL, begun_lap INTEGER NOT NULL, wake_at INTEGER, refresh_at INTEGER,
            refreshed_since INTEGER, ended_at INTEGER, client_seq INTEGER, swept_at INTEGER,
            UNIQUE (app, id)
        ) STRICT;
        CREATE INDEX activity_running ON activity (run_started_at, no) WHERE phase <> 'ended';
        CREATE INDEX activity_ended ON activity (ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX activity_unswept ON activity (ended_at)
            WHERE ended_at IS NOT NULL AND (swept_at IS NULL OR swept_at < ended_at);
        CREATE INDEX activity_due ON activity (wake_at) WHERE wake_at IS NOT NULL;
        CREATE TABLE content (
            activity INTEGER PRIMARY KEY, rev INTEGER NOT NULL, state BLOB NOT NULL, digest INTEGER NOT NULL,
            attributes BLOB NOT NULL, attributes_digest INTEGER NOT NULL, unfit TEXT
        ) STRICT;
        CREATE TABLE lane (
            activity INTEGER NOT NULL, from_dk INTEGER NOT NULL, to_dk INTEGER NOT NULL, pos INTEGER NOT NULL,
            stop INTEGER NOT NULL, wrapped INTEGER NOT NULL, lap INTEGER NOT NULL, look_at INTEGER, next_at INTEGER,
            fence INTEGER NOT NULL, tries INTEGER NOT NULL, reason TEXT, absent INTEGER NOT NULL,
            open INTEGER NOT NULL, live INTEGER NOT NULL, over INTEGER NOT NULL, flight_node INTEGER,
            flight_claimed_at INTEGER, flight_lease_until INTEGER, flight_from INTEGER, flight_to INTEGER,
            flight_devices BLOB, flight_rev INTEGER, flight_ts INTEGER, flight_seed INTEGER,
            PRIMARY KEY (activity, from_dk)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX lane_due ON lane (next_at) WHERE next_at IS NOT NULL;
        CREATE INDEX lane_in_flight ON lane (flight_node) WHERE flight_node IS NOT NULL;
        """

    /// Index of announced activities, which are erased after a while. They are few among all running activities.
    private static let announced = """
        CREATE INDEX activity_announced ON activity (run_started_at) WHERE phase = 'announced';
        """

    /// Index for lists of one phase. Every entry ends with the activity's number, so the index has the order of a list
    /// in both directions.
    private static let listed = """
        CREATE INDEX activity_by_phase ON activity (app, phase);
        """

    /// Columns for a device's counts of the day. Indexes of instances that may have a card, and of instances by card
    /// id. Time since which no row holds a token's value.
    ///
    /// Earlier versions left owners behind whose values no row held. A row that holds a value has the same first-seen
    /// time as its owner.
    private static let devices = """
        ALTER TABLE device ADD COLUMN made_since INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE device ADD COLUMN made_cards INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE device ADD COLUMN made_tokens INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX instance_open ON instance (dk, activity) WHERE state IN (1, 2, 3, 4, 5);
        CREATE INDEX instance_card ON instance (dk, local_id) WHERE local_id IS NOT NULL;
        ALTER TABLE token_owner ADD COLUMN released_at INTEGER;
        CREATE INDEX token_owner_released ON token_owner (released_at) WHERE released_at IS NOT NULL;
        UPDATE token_owner SET released_at = seen_at
        WHERE dead_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM update_token t WHERE token_owner.kind = 3 AND t.activity = token_owner.activity
                AND t.dk = token_owner.dk AND (t.seen_at = token_owner.seen_at OR t.predecessor IS NOT NULL)
        ) AND NOT EXISTS (
            SELECT 1 FROM device_token t WHERE token_owner.kind <> 3 AND t.dk = token_owner.dk
                AND t.kind = token_owner.kind AND t.seen_at = token_owner.seen_at
        );
        """

    /// The amount of history and events of each app (`AppUse`).
    ///
    /// The type of an activity that is being erased contains its app. In earlier versions it did not yet. The bytes of
    /// such an activity count under its type until they are gone.
    private static let use = """
        INSERT INTO meta SELECT 'history_bytes:' || owner, sum(bytes) FROM (
            SELECT coalesce(CASE a.app WHEN 'islet.erased' THEN a.type ELSE a.app END, '') AS owner,
                length(h.body) AS bytes
            FROM history h LEFT JOIN activity a ON a.no = h.activity
        ) GROUP BY owner;
        DELETE FROM meta WHERE name = 'history_bytes';
        INSERT INTO meta SELECT 'events:' || app, count(*) FROM event GROUP BY app;
        INSERT INTO meta VALUES ('user_walk', -1);
        CREATE INDEX webhook_delivery_by_activity ON webhook_delivery (app, name, activity, seq);
        """

    /// Number of waiting cards, which `made_cards` includes. Cards that wait when this migration runs are not counted
    /// that day.
    private static let waiting = "ALTER TABLE device ADD COLUMN made_waiting INTEGER NOT NULL DEFAULT 0;"

    private static let phones = """
        CREATE TABLE user (no INTEGER PRIMARY KEY, app TEXT NOT NULL, id TEXT NOT NULL, UNIQUE (app, id)) STRICT;
        CREATE TABLE device (
            dk INTEGER PRIMARY KEY, app TEXT NOT NULL, id TEXT NOT NULL, user INTEGER NOT NULL, user_id TEXT NOT NULL,
            platform TEXT NOT NULL, time_zone TEXT, locale TEXT, os_version TEXT, app_version TEXT, build TEXT,
            model TEXT, env TEXT, activities_enabled INTEGER, frequent_pushes INTEGER, authorization TEXT,
            inventory INTEGER NOT NULL, created_at INTEGER NOT NULL, contact_at INTEGER NOT NULL,
            signed_out_at INTEGER, credentials BLOB, swept_at INTEGER,
            UNIQUE (app, id)
        ) STRICT;
        CREATE INDEX device_signed_out ON device (signed_out_at) WHERE signed_out_at IS NOT NULL;
        CREATE INDEX device_unswept ON device (signed_out_at)
            WHERE signed_out_at IS NOT NULL AND (swept_at IS NULL OR swept_at < signed_out_at);
        CREATE INDEX device_by_user ON device (user);
        CREATE TABLE member (
            activity INTEGER NOT NULL, user INTEGER NOT NULL, mark INTEGER NOT NULL, PRIMARY KEY (activity, user)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE audience (
            activity INTEGER PRIMARY KEY, members INTEGER NOT NULL, mark INTEGER NOT NULL, session TEXT,
            closed INTEGER NOT NULL, replaced TEXT
        ) STRICT;
        CREATE INDEX member_by_user ON member (user, activity);
        CREATE TABLE instance (
            activity INTEGER NOT NULL, dk INTEGER NOT NULL, run INTEGER NOT NULL, state INTEGER NOT NULL,
            alerted_rev INTEGER NOT NULL, due_at INTEGER, look_at INTEGER, local_id TEXT, started_at INTEGER,
            start_expires_at INTEGER, body BLOB NOT NULL,
            PRIMARY KEY (activity, dk)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX instance_by_device ON instance (dk, activity);
        CREATE INDEX instance_look ON instance (activity, look_at) WHERE look_at IS NOT NULL;
        CREATE INDEX open_start ON instance (dk) WHERE state IN (2, 3) AND local_id IS NULL;
        """

    /// Tokens are sealed under keys outside the database, and found by a keyed hash: see `TokenSealing`.
    private static let tokens = """
        CREATE TABLE update_token (
            activity INTEGER NOT NULL, dk INTEGER NOT NULL, gen INTEGER NOT NULL, env TEXT NOT NULL,
            key INTEGER NOT NULL, value BLOB NOT NULL, seen_at INTEGER NOT NULL, dead_at INTEGER, predecessor BLOB,
            PRIMARY KEY (activity, dk)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE device_token (
            dk INTEGER NOT NULL, kind INTEGER NOT NULL, type TEXT NOT NULL, gen INTEGER NOT NULL, env TEXT NOT NULL,
            key INTEGER NOT NULL, value BLOB NOT NULL, seen_at INTEGER NOT NULL, dead_at INTEGER,
            missed_starts INTEGER NOT NULL,
            PRIMARY KEY (dk, kind, type)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE token_owner (
            hash TEXT PRIMARY KEY, app TEXT NOT NULL, look_up INTEGER NOT NULL, kind INTEGER NOT NULL,
            dk INTEGER NOT NULL, activity INTEGER NOT NULL, seen_at INTEGER NOT NULL, dead_at INTEGER,
            key INTEGER NOT NULL, value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX token_owner_dead ON token_owner (dead_at) WHERE dead_at IS NOT NULL;
        CREATE TABLE token_key (
            no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, use INTEGER NOT NULL, proof BLOB NOT NULL,
            is_primary INTEGER NOT NULL, added_at INTEGER NOT NULL, retired_at INTEGER
        ) STRICT;
        CREATE TABLE tombstone (
            dk INTEGER NOT NULL, local_id TEXT NOT NULL, activity INTEGER NOT NULL, state INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (dk, local_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX tombstone_by_age ON tombstone (at);
        CREATE TABLE budget (
            dk INTEGER NOT NULL, kind INTEGER NOT NULL, hour INTEGER NOT NULL, day INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (dk, kind)
        ) STRICT, WITHOUT ROWID;
        """

    /// Ordinary notifications, each with one row per device that has not received it yet.
    private static let notifications = """
        CREATE TABLE notification (
            no INTEGER PRIMARY KEY, app TEXT NOT NULL, kind INTEGER NOT NULL, payload BLOB NOT NULL, collapse TEXT,
            expires_at INTEGER NOT NULL, activity INTEGER, run INTEGER, rev INTEGER, addressees INTEGER NOT NULL,
            next_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX notification_due ON notification (next_at);
        CREATE TABLE addressee (
            notification INTEGER NOT NULL, dk INTEGER NOT NULL, user TEXT NOT NULL, due_at INTEGER,
            tries INTEGER NOT NULL, tried_other INTEGER NOT NULL, reason TEXT,
            PRIMARY KEY (notification, dk)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX addressee_due ON addressee (notification, due_at) WHERE due_at IS NOT NULL;
        """

    /// A lane keeps its condition as text, so that a look finds each condition once.
    private static let conditions = """
        ALTER TABLE lane ADD COLUMN waits_for TEXT;
        CREATE INDEX lane_waits ON lane (waits_for) WHERE waits_for IS NOT NULL;
        """

    /// Broadcast channels of activities, and the channels of an app that this server has not made.
    private static let channels = """
        ALTER TABLE activity ADD COLUMN channels INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE lane ADD COLUMN on_channel INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE lane ADD COLUMN channel_run INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE instance ADD COLUMN channel_run INTEGER;
        ALTER TABLE device ADD COLUMN channels INTEGER;
        CREATE TABLE channel (
            activity INTEGER NOT NULL, env TEXT NOT NULL, run INTEGER NOT NULL, app TEXT NOT NULL,
            storage INTEGER NOT NULL, state TEXT NOT NULL, id TEXT, has_cards INTEGER NOT NULL,
            awaited INTEGER NOT NULL, sent_rev INTEGER NOT NULL, parked_rev INTEGER NOT NULL,
            alerted_rev INTEGER NOT NULL, ts INTEGER NOT NULL, last_at INTEGER, last_high_at INTEGER,
            budget_hour INTEGER, budget_day INTEGER, budget_at INTEGER, ends INTEGER NOT NULL, over_at INTEGER,
            tries INTEGER NOT NULL, reason TEXT, retry_at INTEGER, due_at INTEGER, fence INTEGER NOT NULL,
            flight_kind INTEGER, flight_node INTEGER, flight_claimed_at INTEGER, flight_lease_until INTEGER,
            flight_rev INTEGER, flight_ts INTEGER, flight_alert INTEGER,
            PRIMARY KEY (activity, run, env)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX channel_due ON channel (due_at) WHERE due_at IS NOT NULL;
        CREATE INDEX channel_in_flight ON channel (flight_node) WHERE flight_node IS NOT NULL;
        CREATE INDEX channel_by_app ON channel (app, env);
        CREATE TABLE stranger (
            app TEXT NOT NULL, env TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (app, env, id)
        ) STRICT, WITHOUT ROWID;
        """

    /// The number of a device's newest report, beside that of its newest inventory, because cards also report
    /// themselves.
    private static let numbered = "ALTER TABLE device ADD COLUMN reports INTEGER NOT NULL DEFAULT 0;"

    private static let refreshes = """
        CREATE TABLE refresh (
            user INTEGER NOT NULL, type TEXT NOT NULL, app TEXT NOT NULL, user_id TEXT NOT NULL, asked INTEGER NOT NULL,
            done INTEGER NOT NULL, pace INTEGER NOT NULL, due_at INTEGER, fence INTEGER NOT NULL, node INTEGER,
            tries INTEGER NOT NULL, failure TEXT, finished_at INTEGER,
            PRIMARY KEY (user, type)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX refresh_due ON refresh (app, type, pace, due_at) WHERE due_at IS NOT NULL;
        CREATE INDEX refresh_running ON refresh (node) WHERE node IS NOT NULL;
        CREATE TABLE memo (
            user INTEGER NOT NULL, type TEXT NOT NULL, zone TEXT NOT NULL, day TEXT NOT NULL, memo BLOB,
            PRIMARY KEY (user, type, zone)
        ) STRICT, WITHOUT ROWID;
        """

    private static let records = """
        CREATE TABLE history (
            activity INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, rev INTEGER NOT NULL,
            n INTEGER NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY (activity, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX history_by_age ON history (at);
        CREATE TABLE idempotency (
            app TEXT NOT NULL, key_hash TEXT NOT NULL, digest BLOB NOT NULL, answer BLOB NOT NULL, at INTEGER NOT NULL,
            PRIMARY KEY (app, key_hash)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_by_age ON idempotency (at);
        CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO meta VALUES ('history_bytes', 0), ('history_seq', 0), ('device_walk', -1);
        CREATE TABLE api_key (
            id TEXT PRIMARY KEY, app TEXT NOT NULL, scope TEXT NOT NULL, name TEXT, secret_hash BLOB NOT NULL,
            created_at INTEGER NOT NULL, expires_at INTEGER, used_at INTEGER, revoked_at INTEGER
        ) STRICT, WITHOUT ROWID;
        """

    /// Events, numbered in the order of their commits. `event_seq` is the last number in use, and `event_floor` the
    /// last erased one.
    private static let events = """
        CREATE TABLE event (
            seq INTEGER PRIMARY KEY, app TEXT NOT NULL, kind INTEGER NOT NULL, at INTEGER NOT NULL, activity INTEGER,
            run INTEGER, dk INTEGER, rev INTEGER, reason TEXT, subject TEXT
        ) STRICT;
        INSERT INTO meta VALUES ('event_seq', 0), ('event_floor', 0);
        CREATE TABLE webhook (
            app TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL, failures INTEGER NOT NULL,
            failing_since INTEGER, disabled_at INTEGER, failure TEXT, version INTEGER NOT NULL,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE webhook_delivery (
            app TEXT NOT NULL, name TEXT NOT NULL, seq INTEGER NOT NULL, activity INTEGER, tries INTEGER NOT NULL,
            first_at INTEGER, due_at INTEGER, dead_at INTEGER, failure TEXT,
            PRIMARY KEY (app, name, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX webhook_delivery_by_event ON webhook_delivery (seq);
        """
}
