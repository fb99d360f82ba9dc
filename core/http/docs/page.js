/* global SwaggerUIBundle */
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.querySelector('main'),
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null, // it would tell a server far away where this one is
});
