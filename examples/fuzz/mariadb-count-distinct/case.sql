-- MariaDB 10.11.19 at every level
-- the tables
CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT NOT NULL, c0 INT);
CREATE TABLE t2 (pkey INT PRIMARY KEY, vkey INT NOT NULL, c1 INT, c3 INT);
INSERT INTO t0 VALUES (1,1,10), (5,1,20);
INSERT INTO t2 VALUES (13,3,NULL,11), (18,3,0,-3), (19,3,0,-3);

-- the statements, each with the session that sends it
/* T0 */ BEGIN;
/* T0 */ SELECT * FROM t2 WHERE t2.c1 NOT IN (SELECT COUNT(DISTINCT a1.c0) FROM t0 AS a0 JOIN t0 AS a1 ON a0.pkey = a1.vkey WHERE t2.c3 >= 7);
/* T0 */ UPDATE t2 SET vkey = 6 WHERE t2.c1 NOT IN (SELECT COUNT(DISTINCT a1.c0) FROM t0 AS a0 JOIN t0 AS a1 ON a0.pkey = a1.vkey WHERE t2.c3 >= 7);
/* T0 */ COMMIT;
