import StorageSQL

/// The fence that keeps a process from writing after another has taken the database over.
///
/// One row holds the *epoch* of the process that may write, and the number of its last transaction. Each transaction
/// first writes its number into the row of its epoch, and fails if the epoch has ended. So a takeover, which raises the
/// epoch, waits until an open transaction ends; and whoever asks what became of a transaction waits likewise.
enum PostgresFence {
    static let table = """
        CREATE TABLE writer (
            app text COLLATE "C" PRIMARY KEY, epoch bigint NOT NULL, last_group bigint NOT NULL, looks bigint NOT NULL
        ) WITH (fillfactor = 10);
        INSERT INTO writer VALUES ('*', 0, 0, 0)
        """

    /// Columns by which changes are recognised that a failover or a restore has lost: the line of changes that the last
    /// process wrote on, whether a standby had each transaction of the epoch, and the server's time of the last one.
    static let lineage = """
        ALTER TABLE writer ADD lineage text COLLATE "C", ADD on_standby boolean NOT NULL DEFAULT false,
            ADD committed_at bigint NOT NULL DEFAULT 0
        """

    /// The function of the first version of the tables.
    static let firstFunction = """
        CREATE FUNCTION fence(its_epoch bigint, its_group bigint, needs_standby bigint)
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            IF needs_standby = 1 AND current_setting('synchronous_standby_names') = '' THEN
                RAISE EXCEPTION 'the server names no synchronous standby' USING ERRCODE = 'IS002';
            END IF;
            UPDATE writer SET last_group = its_group WHERE app = '*' AND epoch = its_epoch;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'another process has taken the database over' USING ERRCODE = 'IS001';
            END IF;
        END
        $$
        """

    static let function = """
        CREATE OR REPLACE FUNCTION fence(its_epoch bigint, its_group bigint, needs_standby bigint)
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            IF needs_standby = 1 AND current_setting('synchronous_standby_names') = '' THEN
                RAISE EXCEPTION 'the server names no synchronous standby' USING ERRCODE = 'IS002';
            END IF;
            UPDATE writer SET last_group = its_group, committed_at = (extract(epoch FROM now()) * 1000)::bigint,
                on_standby = on_standby AND current_setting('synchronous_standby_names') <> ''
                WHERE app = '*' AND epoch = its_epoch;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'another process has taken the database over' USING ERRCODE = 'IS001';
            END IF;
        END
        $$
        """

    /// SQLSTATE of a transaction whose epoch has ended.
    static let ended = "IS001"
    /// Begins a transaction of an epoch. It fails if it needs a synchronous standby and the server names none. The
    /// second column is the position that the server's log has reached, in bytes.
    static let check = "SELECT fence($1, $2, $3), (pg_current_wal_insert_lsn() - '0/0')::bigint"
    /// Begins a transaction beside the process that may write: waits until that has none.
    static let wait = "SELECT 1 FROM writer WHERE app = '*' FOR UPDATE"
}
