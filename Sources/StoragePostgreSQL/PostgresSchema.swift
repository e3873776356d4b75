import StorageSQL

/// The tables, as numbered migrations. From the first release on, migrations are only appended.
///
/// The tables and columns are those of the engine, whose statements both databases run. Instants are milliseconds since
/// 1970, and durations are milliseconds. Everything is in a schema of its own, so that the database may also hold what
/// other programs keep.
enum PostgresSchema {
    static let name = "islet"

    /// A step from one version of the tables to the next.
    struct Migration {
        /// The statements, one after the other.
        let statements: [String]
        /// Least version of the tables that a program must know to serve them after this step.
        let usableFrom: Int

        /// - Parameters:
        ///   - texts: Statements that end with a semicolon at the end of a line.
        ///   - functions: Functions, whose bodies contain semicolons.
        init(usableFrom: Int, _ texts: [String], functions: [String]) {
            self.usableFrom = usableFrom
            statements = texts.flatMap { $0.split(separator: ";\n").map(String.init) } + functions
        }
    }

    static let migrations = [
        Migration(
            usableFrom: 1,
            [
                activities, phones, tokens, notifications, refreshes, records, functions, PostgresFence.table,
                PostgresNodes.table,
            ],
            functions: [PostgresFence.firstFunction]),
        // Sessions of a server of version 1 that runs meanwhile go on to call the function.
        Migration(
            usableFrom: 1, [PostgresFence.lineage, PostgresNodes.calls, versions],
            functions: [PostgresFence.function, json]),
        // A program of version 2 leaves the columns as they are. Nothing is on a channel while one serves.
        Migration(usableFrom: 1, [channelColumns, channels], functions: []),
    ]

    /// Version of the tables that this version of islet works with.
    static var version: Int { migrations.count }

    // Texts are compared by their bytes, as in SQLite. The default collation depends on the database.
    private static func table(_ text: String) -> String {
        text.replacing(" TEXT", with: " text COLLATE \"C\"")
    }

    private static let activities = table(
        """
        CREATE TABLE activity (
            no bigint PRIMARY KEY, app TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, phase TEXT NOT NULL,
            run bigint NOT NULL, run_started_at bigint NOT NULL, rev bigint NOT NULL, priority TEXT NOT NULL,
            relevance double precision, stale_at bigint, stale_after bigint, start_mode TEXT NOT NULL,
            devices TEXT NOT NULL, restart TEXT NOT NULL, alert TEXT, fallback TEXT, alert_ids TEXT,
            dismissal TEXT NOT NULL, changed_at bigint NOT NULL, accepted_at bigint NOT NULL,
            hold_until bigint NOT NULL, lap bigint NOT NULL, begun_lap bigint NOT NULL, wake_at bigint,
            refresh_at bigint, refreshed_since bigint, ended_at bigint, client_seq bigint, swept_at bigint,
            UNIQUE (app, id)
        );
        CREATE INDEX activity_running ON activity (run_started_at, no) WHERE phase <> 'ended';
        CREATE INDEX activity_ended ON activity (ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX activity_unswept ON activity (ended_at)
            WHERE ended_at IS NOT NULL AND (swept_at IS NULL OR swept_at < ended_at);
        CREATE INDEX activity_due ON activity (wake_at) WHERE wake_at IS NOT NULL;
        CREATE INDEX activity_announced ON activity (run_started_at) WHERE phase = 'announced';
        CREATE INDEX activity_by_phase ON activity (app, phase, no);
        CREATE TABLE content (
            activity bigint PRIMARY KEY, rev bigint NOT NULL, state bytea NOT NULL, digest bigint NOT NULL,
            attributes bytea NOT NULL, attributes_digest bigint NOT NULL, unfit TEXT
        );
        CREATE TABLE lane (
            activity bigint NOT NULL, from_dk bigint NOT NULL, to_dk bigint NOT NULL, pos bigint NOT NULL,
            stop bigint NOT NULL, wrapped bigint NOT NULL, lap bigint NOT NULL, look_at bigint, next_at bigint,
            fence bigint NOT NULL, tries bigint NOT NULL, reason TEXT, absent bigint NOT NULL,
            open bigint NOT NULL, live bigint NOT NULL, over bigint NOT NULL, flight_node bigint,
            flight_claimed_at bigint, flight_lease_until bigint, flight_from bigint, flight_to bigint,
            flight_devices bytea, flight_rev bigint, flight_ts bigint, flight_seed bigint, waits_for TEXT,
            PRIMARY KEY (activity, from_dk)
        ) WITH (autovacuum_vacuum_scale_factor = 0.02);
        CREATE INDEX lane_due ON lane (next_at, activity, from_dk) WHERE next_at IS NOT NULL;
        CREATE INDEX lane_in_flight ON lane (activity, from_dk) WHERE flight_node IS NOT NULL;
        CREATE INDEX lane_waits ON lane (waits_for, activity, from_dk) WHERE waits_for IS NOT NULL;
        """)

    // Half of a page of phones and budgets is left free, so that an update that changes no index stays on its page
    // (https://www.postgresql.org/docs/15/storage-hot.html).
    private static let phones = table(
        """
        CREATE TABLE "user" (no bigint PRIMARY KEY, app TEXT NOT NULL, id TEXT NOT NULL, UNIQUE (app, id));
        CREATE TABLE device (
            dk bigint PRIMARY KEY, app TEXT NOT NULL, id TEXT NOT NULL, "user" bigint NOT NULL, user_id TEXT NOT NULL,
            platform TEXT NOT NULL, time_zone TEXT, locale TEXT, os_version TEXT, app_version TEXT, build TEXT,
            model TEXT, env TEXT, activities_enabled bigint, frequent_pushes bigint, "authorization" TEXT,
            inventory bigint NOT NULL, created_at bigint NOT NULL, contact_at bigint NOT NULL,
            signed_out_at bigint, credentials bytea, swept_at bigint, reports bigint NOT NULL DEFAULT 0,
            made_since bigint NOT NULL DEFAULT 0, made_cards bigint NOT NULL DEFAULT 0,
            made_tokens bigint NOT NULL DEFAULT 0, made_waiting bigint NOT NULL DEFAULT 0,
            UNIQUE (app, id)
        );
        CREATE INDEX device_signed_out ON device (signed_out_at) WHERE signed_out_at IS NOT NULL;
        CREATE INDEX device_unswept ON device (signed_out_at)
            WHERE signed_out_at IS NOT NULL AND (swept_at IS NULL OR swept_at < signed_out_at);
        CREATE INDEX device_by_user ON device ("user", dk);
        CREATE TABLE member (
            activity bigint NOT NULL, "user" bigint NOT NULL, mark bigint NOT NULL, PRIMARY KEY (activity, "user")
        );
        CREATE TABLE audience (
            activity bigint PRIMARY KEY, members bigint NOT NULL, mark bigint NOT NULL, session TEXT,
            closed bigint NOT NULL, replaced TEXT
        );
        CREATE INDEX member_by_user ON member ("user", activity);
        CREATE TABLE instance (
            activity bigint NOT NULL, dk bigint NOT NULL, run bigint NOT NULL, state bigint NOT NULL,
            alerted_rev bigint NOT NULL, due_at bigint, look_at bigint, local_id TEXT, started_at bigint,
            start_expires_at bigint, body bytea NOT NULL,
            PRIMARY KEY (activity, dk)
        ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
        CREATE INDEX instance_by_device ON instance (dk, activity);
        CREATE INDEX instance_look ON instance (activity, look_at) WHERE look_at IS NOT NULL;
        CREATE INDEX open_start ON instance (dk) WHERE state IN (2, 3) AND local_id IS NULL;
        CREATE INDEX instance_open ON instance (dk, activity) WHERE state IN (1, 2, 3, 4, 5);
        CREATE INDEX instance_card ON instance (dk, local_id) WHERE local_id IS NOT NULL;
        """)

    /// Tokens are sealed under keys outside the database, and found by a keyed hash.
    private static let tokens = table(
        """
        CREATE TABLE update_token (
            activity bigint NOT NULL, dk bigint NOT NULL, gen bigint NOT NULL, env TEXT NOT NULL,
            key bigint NOT NULL, value bytea NOT NULL, seen_at bigint NOT NULL, dead_at bigint, predecessor bytea,
            PRIMARY KEY (activity, dk)
        );
        CREATE TABLE device_token (
            dk bigint NOT NULL, kind bigint NOT NULL, type TEXT NOT NULL, gen bigint NOT NULL, env TEXT NOT NULL,
            key bigint NOT NULL, value bytea NOT NULL, seen_at bigint NOT NULL, dead_at bigint,
            missed_starts bigint NOT NULL,
            PRIMARY KEY (dk, kind, type)
        );
        CREATE TABLE token_owner (
            hash TEXT PRIMARY KEY, app TEXT NOT NULL, look_up bigint NOT NULL, kind bigint NOT NULL,
            dk bigint NOT NULL, activity bigint NOT NULL, seen_at bigint NOT NULL, dead_at bigint,
            key bigint NOT NULL, value bytea NOT NULL, released_at bigint
        );
        CREATE INDEX token_owner_dead ON token_owner (dead_at) WHERE dead_at IS NOT NULL;
        CREATE INDEX token_owner_released ON token_owner (released_at) WHERE released_at IS NOT NULL;
        CREATE TABLE token_key (
            no bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, use bigint NOT NULL,
            proof bytea NOT NULL, is_primary bigint NOT NULL, added_at bigint NOT NULL, retired_at bigint
        );
        CREATE TABLE tombstone (
            dk bigint NOT NULL, local_id TEXT NOT NULL, activity bigint NOT NULL, state bigint NOT NULL,
            at bigint NOT NULL,
            PRIMARY KEY (dk, local_id)
        );
        CREATE INDEX tombstone_by_age ON tombstone (at);
        CREATE TABLE budget (
            dk bigint NOT NULL, kind bigint NOT NULL, hour bigint NOT NULL, day bigint NOT NULL,
            at bigint NOT NULL,
            PRIMARY KEY (dk, kind)
        ) WITH (fillfactor = 50);
        """)

    private static let notifications = table(
        """
        CREATE TABLE notification (
            no bigint PRIMARY KEY, app TEXT NOT NULL, kind bigint NOT NULL, payload bytea NOT NULL, collapse TEXT,
            expires_at bigint NOT NULL, activity bigint, run bigint, rev bigint, addressees bigint NOT NULL,
            next_at bigint NOT NULL
        );
        CREATE INDEX notification_due ON notification (next_at);
        CREATE TABLE addressee (
            notification bigint NOT NULL, dk bigint NOT NULL, "user" TEXT NOT NULL, due_at bigint,
            tries bigint NOT NULL, tried_other bigint NOT NULL, reason TEXT,
            PRIMARY KEY (notification, dk)
        );
        CREATE INDEX addressee_due ON addressee (notification, due_at) WHERE due_at IS NOT NULL;
        """)

    private static let refreshes = table(
        """
        CREATE TABLE refresh (
            "user" bigint NOT NULL, type TEXT NOT NULL, app TEXT NOT NULL, user_id TEXT NOT NULL, asked bigint NOT NULL,
            done bigint NOT NULL, pace bigint NOT NULL, due_at bigint, fence bigint NOT NULL, node bigint,
            tries bigint NOT NULL, failure TEXT, finished_at bigint,
            PRIMARY KEY ("user", type)
        );
        CREATE INDEX refresh_due ON refresh (app, type, pace, due_at) WHERE due_at IS NOT NULL;
        CREATE INDEX refresh_running ON refresh (node) WHERE node IS NOT NULL;
        CREATE TABLE memo (
            "user" bigint NOT NULL, type TEXT NOT NULL, zone TEXT NOT NULL, day TEXT NOT NULL, memo bytea,
            PRIMARY KEY ("user", type, zone)
        );
        """)

    private static let records = table(
        """
        CREATE TABLE history (
            activity bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, rev bigint NOT NULL,
            n bigint NOT NULL, body bytea NOT NULL,
            PRIMARY KEY (activity, seq)
        );
        CREATE INDEX history_by_age ON history (at, activity, seq);
        CREATE TABLE idempotency (
            app TEXT NOT NULL, key_hash TEXT NOT NULL, digest bytea NOT NULL, answer bytea NOT NULL, at bigint NOT NULL,
            PRIMARY KEY (app, key_hash)
        );
        CREATE INDEX idempotency_by_age ON idempotency (at);
        CREATE TABLE meta (name TEXT PRIMARY KEY, value bigint NOT NULL);
        INSERT INTO meta VALUES
            ('history_seq', 0), ('device_walk', -1), ('user_walk', -1), ('event_seq', 0), ('event_floor', 0);
        CREATE TABLE api_key (
            id TEXT PRIMARY KEY, app TEXT NOT NULL, scope TEXT NOT NULL, name TEXT, secret_hash bytea NOT NULL,
            created_at bigint NOT NULL, expires_at bigint, used_at bigint, revoked_at bigint
        );
        CREATE TABLE event (
            seq bigint PRIMARY KEY, app TEXT NOT NULL, kind bigint NOT NULL, at bigint NOT NULL, activity bigint,
            run bigint, dk bigint, rev bigint, reason TEXT, subject TEXT
        );
        CREATE TABLE webhook (
            app TEXT NOT NULL, name TEXT NOT NULL, position bigint NOT NULL, failures bigint NOT NULL,
            failing_since bigint, disabled_at bigint, failure TEXT, version bigint NOT NULL,
            PRIMARY KEY (app, name)
        );
        CREATE TABLE webhook_delivery (
            app TEXT NOT NULL, name TEXT NOT NULL, seq bigint NOT NULL, activity bigint, tries bigint NOT NULL,
            first_at bigint, due_at bigint, dead_at bigint, failure TEXT,
            PRIMARY KEY (app, name, seq)
        );
        CREATE INDEX webhook_delivery_by_event ON webhook_delivery (seq);
        CREATE INDEX webhook_delivery_by_activity ON webhook_delivery (app, name, activity, seq);
        """)

    private static let channelColumns = """
        ALTER TABLE activity ADD channels bigint NOT NULL DEFAULT 0;
        ALTER TABLE lane ADD on_channel bigint NOT NULL DEFAULT 0;
        ALTER TABLE lane ADD channel_run bigint NOT NULL DEFAULT 0;
        ALTER TABLE instance ADD channel_run bigint;
        ALTER TABLE device ADD channels bigint
        """

    private static let channels = table(
        """
        CREATE TABLE channel (
            activity bigint NOT NULL, env TEXT NOT NULL, run bigint NOT NULL, app TEXT NOT NULL,
            storage bigint NOT NULL, state TEXT NOT NULL, id TEXT, has_cards bigint NOT NULL,
            awaited bigint NOT NULL, sent_rev bigint NOT NULL, parked_rev bigint NOT NULL,
            alerted_rev bigint NOT NULL, ts bigint NOT NULL, last_at bigint, last_high_at bigint,
            budget_hour bigint, budget_day bigint, budget_at bigint, ends bigint NOT NULL, over_at bigint,
            tries bigint NOT NULL, reason TEXT, retry_at bigint, due_at bigint, fence bigint NOT NULL,
            flight_kind bigint, flight_node bigint, flight_claimed_at bigint, flight_lease_until bigint,
            flight_rev bigint, flight_ts bigint, flight_alert bigint,
            PRIMARY KEY (activity, run, env)
        );
        CREATE INDEX channel_due ON channel (due_at, activity, run, env) WHERE due_at IS NOT NULL;
        CREATE INDEX channel_in_flight ON channel (activity, run, env) WHERE flight_node IS NOT NULL;
        CREATE INDEX channel_by_app ON channel (app, env);
        CREATE TABLE stranger (
            app TEXT NOT NULL, env TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (app, env, id)
        );
        """)

    private static let versions = "ALTER TABLE schema_version ADD usable_from bigint NOT NULL DEFAULT 1"

    /// SQLite's function of this name, for the fields of an object.
    private static let json = """
        CREATE FUNCTION json_extract(text, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
            AS 'SELECT $1::json ->> substr($2, 3)'
        """

    /// Tables from arrays, under the names that the engine's statements use. The planner puts their bodies in place.
    private static let functions = """
        CREATE FUNCTION list(bigint[]) RETURNS TABLE (value bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
            AS 'SELECT v FROM unnest($1) AS v';
        CREATE FUNCTION list(text[]) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
            AS 'SELECT v FROM unnest($1) AS v';
        CREATE FUNCTION pairs(bigint[]) RETURNS TABLE (a bigint, b bigint)
            LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
            AS 'SELECT $1[2 * i - 1], $1[2 * i] FROM generate_series(1, cardinality($1) / 2) AS i';
        CREATE FUNCTION tuples(bigint[], text[], bigint[], bigint[])
            RETURNS TABLE (a bigint, b text, c bigint, d bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
            AS 'SELECT * FROM unnest($1, $2, $3, $4)';
        """
}
