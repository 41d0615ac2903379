import { render } from 'preact';
import { App } from './app.tsx';
import { startRouter } from './router.ts';
import { takeKeyOfLink } from './session.ts';
import { applyPreferences } from './shell/preferences.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';
import './styles/shell.css';
import './styles/statechart.css';
import './styles/jobs.css';
import './styles/job.css';

takeKeyOfLink();
window.addEventListener('hashchange', takeKeyOfLink);
applyPreferences();
startRouter();
const place = document.getElementById('app');
if (place !== null) render(<App />, place);
