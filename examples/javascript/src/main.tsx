import { createRoot } from "react-dom/client";
import { App } from "./App.tsx";
import "./style.css";

const url = import.meta.env.VITE_DISCREET_URL ?? "http://127.0.0.1:2024";

createRoot(document.getElementById("root")!).render(<App url={url} />);
