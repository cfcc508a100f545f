//! What the shape of a large cluster costs us: from CLUSTER SHARDS and CLUSTER NODES to numbered shards, and one node's
//! view, by the number of nodes. Twice the nodes must take about twice as long, and not four times.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use headwater::sources::redis::cluster_view::read_view;
use headwater::sources::redis::shape::{ShardNumbers, Viewpoint, lay_out};
use headwater::sources::redis::topology::{combine, read_nodes, read_shards};
use headwater_engine::{Kind, Subject};
use headwater_test_support::LargeCluster;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("topology");
    group.sample_size(20).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    let name = Subject::component(Kind::Redis, "features");
    let node = name.shard(0).instance("10.0.0.1:6379");
    let address_map = BTreeMap::new();
    for nodes in [250_u32, 500, 1_000, 2_000] {
        let cluster = LargeCluster { shards: nodes / 2, failed_over: Some(7) };
        let (shards, lines, info) = (cluster.shards(), cluster.nodes(), cluster.info());
        let mut numbers = ShardNumbers::default();
        group.throughput(Throughput::Elements(u64::from(nodes)));
        group.bench_function(BenchmarkId::new("shape", nodes), |bencher| {
            bencher.iter(|| {
                let reply = redis::parse_redis_value(&shards).expect("it is a reply");
                let seen = combine(read_shards(&reply), &read_nodes(&lines));
                let view = Viewpoint {
                    cluster: &name,
                    clustered: true,
                    asked_host: "10.0.0.1",
                    address_map: &address_map,
                    tls: false,
                };
                black_box(lay_out(view, numbers.number(seen)))
            });
        });
        group.bench_function(BenchmarkId::new("one view", nodes), |bencher| {
            bencher.iter(|| black_box(read_view(&node, "10.0.0.1", &info, &read_nodes(&lines))));
        });
    }
    group.finish();
    criterion.final_summary();
}
