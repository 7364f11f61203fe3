// The type of a dashboard: Grafana's published types, narrowed to the panels of this folder, so that a misspelled key in a
// panel's options is an error. Other kinds of panels need a line in `Panel`.
import type * as schema from './node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type * as barGauge from './node_modules/@grafana/schema/dist/types/raw/composable/bargauge/panelcfg/x/types.gen';
import type * as heatmap from './node_modules/@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/types.gen';
import type * as stat from './node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type * as table from './node_modules/@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen';
import type * as timeSeries from './node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';

// JSON has strings where the types have enums.
type Json<T> = T extends string
  ? `${T}`
  : T extends (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [Key in keyof T]: Json<T[Key]> }
      : T;

// The schema does not define a query's keys, because they depend on the data source. Grafana's editor adds the last five.
interface Target {
  refId: string;
  expr: string;
  legendFormat?: string;
  instant?: boolean;
  format?: 'time_series' | 'table' | 'heatmap';
  datasource?: schema.DataSourceRef;
  editorMode?: 'builder' | 'code';
  exemplar?: boolean;
  hide?: boolean;
  range?: boolean;
}

interface FieldConfig<Custom> extends Omit<schema.FieldConfigSource, 'defaults'> {
  defaults: Omit<schema.FieldConfig, 'custom'> & { custom?: Custom };
}

interface Of<Type, Options, Custom> extends Omit<schema.Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> {
  type: Type;
  options: Options;
  fieldConfig: FieldConfig<Custom>;
  targets: Target[];
}

type Panel =
  | Of<'bargauge', barGauge.Options, never>
  | Of<'heatmap', heatmap.Options, heatmap.FieldConfig>
  | Of<'stat', stat.Options, never>
  | Of<'table', table.Options, table.FieldConfig>
  | Of<'timeseries', timeSeries.Options, timeSeries.FieldConfig>
  | schema.RowPanel;

// Grafana writes `definition` beside a variable's query, but its schema does not have it.
interface Variable extends schema.VariableModel {
  definition?: string;
}

// The schema does not define the keys of Prometheus.
interface Annotation extends schema.AnnotationQuery {
  expr: string;
  step: string;
  titleFormat: string;
}

type Narrowed = Omit<schema.Dashboard, 'annotations' | 'panels' | 'templating'> & {
  annotations?: { list: Annotation[] };
  panels: Panel[];
  templating: { list: Variable[] };
};

export type Dashboard = Json<Narrowed>;
