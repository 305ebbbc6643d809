//! TPC-C as reads and writes of rows: all five transactions, in the standard mix.
//!
//! A session is a terminal of one warehouse. Scripts know no answers, so the numbers of orders come from
//! the terminal and not from the district; the district's counter is read and written all the same. The
//! lines of an order are one row. There are fewer customers, items and orders than the standard has, so
//! that transactions meet: a new order replaces one of the oldest.

use crate::application::{Numbers, Region, Row, Steps, by_weight, row};
use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// Of a warehouse.
const DISTRICTS: u64 = 10;
/// Of a district.
const CUSTOMERS: u64 = 100;
/// Of all warehouses, and in the stock of each.
const ITEMS: u64 = 1_000;
/// How many orders and payments a district keeps.
const ORDERS: u64 = 100;
const PAYMENTS: u64 = 100;
/// How many lines an order has.
const LINES: (u64, u64) = (5, 15);
/// How many orders and how many items the stock level looks at.
const RECENT: u64 = 20;
/// One in so many lines is supplied by another warehouse, and that share of customers pays elsewhere.
const REMOTE_LINES: f64 = 0.01;
const REMOTE_CUSTOMERS: f64 = 0.15;
/// The standard's constants A, made smaller as customers and items are fewer.
const SKEW_OF_CUSTOMERS: u64 = 31;
const SKEW_OF_ITEMS: u64 = 63;
/// How many operations the longest transaction has: the delivery.
pub(crate) const LONGEST: u32 = (DISTRICTS * 8) as u32;

type TpccAction = fn(&Tpcc, &mut Terminal, &mut Steps<'_>);

/// All transactions.
pub(crate) static TABLE: [Row<TpccAction>; 5] = [
    row("new-order", 45, Tpcc::new_order),
    row("payment", 43, Tpcc::payment),
    row("order-status", 4, Tpcc::order_status),
    row("delivery", 4, Tpcc::delivery),
    row("stock-level", 4, Tpcc::stock_level),
];

/// What a terminal remembers.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    numbers: Numbers,
    /// How many orders it has placed, and delivered, in each district.
    placed: [u64; DISTRICTS as usize],
    delivered: [u64; DISTRICTS as usize],
}

impl Terminal {
    pub(crate) const fn new(session: u32, sessions: u32) -> Terminal {
        let none = [0; DISTRICTS as usize];
        Terminal { numbers: Numbers::new(session, sessions), placed: none, delivered: none }
    }

    /// The number of its latest order in a district; before the first, the number that this will have.
    fn latest(&self, district: u64) -> u64 {
        self.numbers.nth(self.placed[district as usize].saturating_sub(1))
    }
}

/// How many rows so many warehouses have.
pub(crate) fn rows(warehouses: u32) -> u64 {
    Tpcc::new(warehouses).rows()
}

/// Where the rows of all tables are.
#[derive(Clone, Debug)]
pub(crate) struct Tpcc {
    count: u64,
    warehouses: Region,
    districts: Region,
    customers: Region,
    items: Region,
    stock: Region,
    orders: Region,
    new_orders: Region,
    lines: Region,
    payments: Region,
    types: Picker,
}

impl Tpcc {
    pub(crate) fn new(warehouses: u32) -> Tpcc {
        let count = u64::from(warehouses);
        let warehouses = Region::after(0, count);
        let districts = Region::after(warehouses.end(), count * DISTRICTS);
        let customers = Region::after(districts.end(), count * DISTRICTS * CUSTOMERS);
        let items = Region::after(customers.end(), ITEMS);
        let stock = Region::after(items.end(), count * ITEMS);
        let orders = Region::after(stock.end(), count * DISTRICTS * ORDERS);
        let new_orders = Region::after(orders.end(), count * DISTRICTS * ORDERS);
        let lines = Region::after(new_orders.end(), count * DISTRICTS * ORDERS);
        let payments = Region::after(lines.end(), count * DISTRICTS * PAYMENTS);
        let types = by_weight(&TABLE);
        Tpcc {
            count,
            warehouses,
            districts,
            customers,
            items,
            stock,
            orders,
            new_orders,
            lines,
            payments,
            types,
        }
    }

    const fn rows(&self) -> u64 {
        self.payments.end()
    }

    pub(crate) fn fill(&self, terminal: &mut Terminal, random: &mut Random, steps: &mut Vec<Step>) {
        let action = TABLE[self.types.pick(random) as usize].1;
        action(self, terminal, &mut Steps { random, steps });
    }

    fn home(&self, terminal: &Terminal) -> u64 {
        u64::from(terminal.numbers.session) % self.count
    }

    /// Another warehouse than this one, if there is one.
    fn elsewhere(&self, home: u64, steps: &mut Steps<'_>) -> u64 {
        if self.count < 2 {
            return home;
        }
        (home + steps.between(1, self.count - 1)) % self.count
    }

    fn district(&self, warehouse: u64, district: u64) -> u64 {
        warehouse * DISTRICTS + district
    }

    fn new_order(&self, terminal: &mut Terminal, steps: &mut Steps<'_>) {
        let (home, at) = (self.home(terminal), steps.random.below(DISTRICTS));
        let district = self.district(home, at);
        let customer = uneven(SKEW_OF_CUSTOMERS, CUSTOMERS, steps);
        terminal.placed[at as usize] += 1;
        let order = district * ORDERS + terminal.latest(at) % ORDERS;
        steps.read(self.warehouses.row(home));
        steps.update(self.districts.row(district));
        steps.read(self.customers.row(district * CUSTOMERS + customer));
        steps.write(self.orders.row(order));
        steps.write(self.new_orders.row(order));
        for _ in 0..steps.between(LINES.0, LINES.1) {
            let item = uneven(SKEW_OF_ITEMS, ITEMS, steps);
            let remote = steps.random.chance(REMOTE_LINES);
            let supplier = if remote { self.elsewhere(home, steps) } else { home };
            steps.read(self.items.row(item));
            steps.update(self.stock.row(supplier * ITEMS + item));
        }
        steps.write(self.lines.row(order));
    }

    fn payment(&self, terminal: &mut Terminal, steps: &mut Steps<'_>) {
        let (home, at) = (self.home(terminal), steps.random.below(DISTRICTS));
        let district = self.district(home, at);
        let whose = if steps.random.chance(REMOTE_CUSTOMERS) {
            let warehouse = self.elsewhere(home, steps);
            self.district(warehouse, steps.random.below(DISTRICTS))
        } else {
            district
        };
        let customer = uneven(SKEW_OF_CUSTOMERS, CUSTOMERS, steps);
        let number = terminal.numbers.next();
        steps.update(self.warehouses.row(home));
        steps.update(self.districts.row(district));
        steps.update(self.customers.row(whose * CUSTOMERS + customer));
        steps.write(self.payments.row(district * PAYMENTS + number % PAYMENTS));
    }

    fn order_status(&self, terminal: &mut Terminal, steps: &mut Steps<'_>) {
        let (home, at) = (self.home(terminal), steps.random.below(DISTRICTS));
        let district = self.district(home, at);
        let customer = uneven(SKEW_OF_CUSTOMERS, CUSTOMERS, steps);
        let order = district * ORDERS + terminal.latest(at) % ORDERS;
        steps.read(self.customers.row(district * CUSTOMERS + customer));
        steps.read(self.orders.row(order));
        steps.read(self.lines.row(order));
    }

    /// Delivers the terminal's oldest order in every district.
    fn delivery(&self, terminal: &mut Terminal, steps: &mut Steps<'_>) {
        let home = self.home(terminal);
        for at in 0..DISTRICTS {
            let (placed, delivered) =
                (terminal.placed[at as usize], &mut terminal.delivered[at as usize]);
            let oldest = *delivered;
            *delivered = placed.min(oldest + 1);
            let district = self.district(home, at);
            let order = district * ORDERS + terminal.numbers.nth(oldest) % ORDERS;
            let customer = uneven(SKEW_OF_CUSTOMERS, CUSTOMERS, steps);
            steps.update(self.new_orders.row(order));
            steps.update(self.orders.row(order));
            steps.update(self.lines.row(order));
            steps.update(self.customers.row(district * CUSTOMERS + customer));
        }
    }

    /// Looks at the latest orders of the district, those of other terminals too, and at the stock.
    fn stock_level(&self, terminal: &mut Terminal, steps: &mut Steps<'_>) {
        let (home, at) = (self.home(terminal), steps.random.below(DISTRICTS));
        let district = self.district(home, at);
        let latest = terminal.latest(at) % ORDERS + ORDERS;
        steps.read(self.districts.row(district));
        for before in 0..RECENT {
            steps.read(self.lines.row(district * ORDERS + (latest - before) % ORDERS));
        }
        for _ in 0..RECENT {
            let item = uneven(SKEW_OF_ITEMS, ITEMS, steps);
            steps.read(self.stock.row(home * ITEMS + item));
        }
    }
}

/// The standard's NURand: some of `n` are asked for more often than others.
fn uneven(skew: u64, n: u64, steps: &mut Steps<'_>) -> u64 {
    (steps.random.below(skew + 1) | steps.random.below(n)) % n
}
