package rollup
