import { render } from 'preact';
import { follow } from './api.ts';
import { App } from './app.tsx';
import { startNotifying } from './notify.ts';
import './style.css';

follow();
startNotifying();
const place = document.getElementById('app');
if (place !== null) render(<App />, place);
