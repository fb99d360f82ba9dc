import { sherpaPlugin } from '../../kit/sherpa/sherpa-plugin.ts';

export default sherpaPlugin({
  name: 'sherpa-final',
  title:
    'sherpa-onnx once more, for a second pass: a larger model beside the live one, on this machine, offline',
});
