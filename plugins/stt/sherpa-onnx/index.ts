import { sherpaPlugin } from '../../kit/sherpa/sherpa-plugin.ts';

export default sherpaPlugin({
  name: 'sherpa-onnx',
  title: 'sherpa-onnx: recognition on this machine, offline, in the languages of the model chosen',
});
